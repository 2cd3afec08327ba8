import { setTimeout as sleep } from 'node:timers/promises'
import type { Postgres } from '../postgres/client.js'
import { findProjectRows, findTokenRows, type Piece, snapshot } from '../postgres/rows.js'
import { compareProjects, compareTokens, type Difference, withoutPassword } from '../services/project-differences.js'
import type { ProjectLookups, TokenKey } from '../services/project-lookups.js'
import { nameProblem, quoted } from './names.js'
import type { Output } from './output.js'

const KEYS_AT_ONCE = 1000
/** What is being changed while we look is looked at again after this time. */
const AGAIN_MS = 300

export interface Sides {
  /** A connection for the snapshot, and one for looking again. */
  snapshot: Postgres
  postgres: Postgres
  dynamo: ProjectLookups
}

interface Keys {
  projects: string[]
  tokens: TokenKey[]
}

/**
 * Compares both sides in full. PostgreSQL is walked in the order of its keys, and DynamoDB asked for the same keys; then
 * the keys of DynamoDB's table are walked, and PostgreSQL asked whether it has them. Only a difference that is there at a
 * second look counts, so that a service may go on writing.
 */
export async function verify(sides: Sides, output: Output): Promise<number> {
  const counts = { projects: 0, tokens: 0, missing: 0, extra: 0, differing: 0, targets: 0, others: 0 }
  const tell = (differences: Difference[]) => {
    for (const difference of differences) {
      counts[difference.kind] += 1
      output.line(lineOf(difference))
    }
  }
  for await (const keys of keysOfPostgres(sides.snapshot)) {
    counts.projects += keys.projects.length
    counts.tokens += keys.tokens.length
    tell(await lastingDifferences(sides, keys))
  }
  for await (const page of sides.dynamo.scanKeys()) {
    const keys: Keys = { projects: [], tokens: [] }
    for (const item of page) {
      // Under a name that is none, the API serves nothing, and PostgreSQL could not even be asked for some.
      if (item.kind === 'project' && isKey(item.project)) keys.projects.push(item.project)
      else if (item.kind === 'token' && isKey(item.project) && isKey(item.tokenId)) keys.tokens.push(item)
      else counts[item.kind === 'target' ? 'targets' : 'others'] += 1
    }
    for (const part of partsOf(keys)) tell(await lastingExtras(sides, part))
  }
  const total = counts.missing + counts.extra + counts.differing
  output.line(
    `${counts.projects} projects and ${counts.tokens} tokens of PostgreSQL compared: ${total} differences ` +
      `(missing ${counts.missing}, extra ${counts.extra}, differing ${counts.differing}); ` +
      `not compared, since PostgreSQL has none: ${counts.targets} targets, ${counts.others} other items`
  )
  return total > 0 ? 1 : 0
}

async function* keysOfPostgres(client: Postgres): AsyncGenerator<Keys> {
  let keys: Keys = { projects: [], tokens: [] }
  for await (const piece of snapshot(client)) {
    addKeys(keys, piece)
    if (keys.projects.length + keys.tokens.length < KEYS_AT_ONCE) continue
    yield keys
    keys = { projects: [], tokens: [] }
  }
  yield keys
}

function addKeys(keys: Keys, { project, repository, tokens }: Piece): void {
  if (repository !== undefined) keys.projects.push(project)
  for (const { tokenId } of tokens) keys.tokens.push({ project, tokenId })
}

function* partsOf({ projects, tokens }: Keys): Generator<Keys> {
  for (let at = 0; at < Math.max(projects.length, tokens.length); at += KEYS_AT_ONCE) {
    yield { projects: projects.slice(at, at + KEYS_AT_ONCE), tokens: tokens.slice(at, at + KEYS_AT_ONCE) }
  }
}

async function lastingDifferences(sides: Sides, keys: Keys): Promise<Difference[]> {
  const first = await differencesOf(sides, keys)
  const tokens = first.flatMap(({ project, tokenId }) => (tokenId === undefined ? [] : [{ project, tokenId }]))
  const projects = first.flatMap(({ project, tokenId }) => (tokenId === undefined ? [project] : []))
  return secondLook(sides, { projects: [...new Set(projects)], tokens: unique(tokens) })
}

/** What DynamoDB has of these keys, and PostgreSQL has not. */
async function lastingExtras(sides: Sides, { projects, tokens }: Keys): Promise<Difference[]> {
  const rows = await rowsOf(sides.postgres, projects, tokens)
  const names = new Set(rows.projects.map(({ project }) => project))
  const ids = new Set(rows.tokens.map(idOf))
  const found = await secondLook(sides, {
    projects: projects.filter(name => !names.has(name)),
    tokens: tokens.filter(key => !ids.has(idOf(key)))
  })
  return found.filter(({ kind }) => kind === 'extra')
}

async function secondLook(sides: Sides, keys: Keys): Promise<Difference[]> {
  if (keys.projects.length + keys.tokens.length === 0) return []
  await sleep(AGAIN_MS)
  return differencesOf(sides, keys)
}

/** A token that differs in two fields comes twice. */
function unique(keys: TokenKey[]): TokenKey[] {
  return [...new Map(keys.map(key => [idOf(key), key])).values()]
}

const isKey = (name: string) => nameProblem(name) === undefined

/** What differs among the given keys at this moment. */
async function differencesOf({ postgres, dynamo }: Sides, { projects, tokens }: Keys): Promise<Difference[]> {
  // What cannot be a key cannot be in DynamoDB, and must not be asked for.
  const keys = tokens.filter(({ project, tokenId }) => isKey(project) && isKey(tokenId))
  const [rows, storedProjects, storedTokens] = await Promise.all([
    rowsOf(postgres, projects, tokens),
    dynamo.findProjects(projects.filter(isKey)),
    dynamo.findTokens(keys)
  ])
  return [...compareProjects(rows.projects, storedProjects), ...compareTokens(rows.tokens, storedTokens)].sort(byKey)
}

/** One after the other: it is one connection. */
async function rowsOf(postgres: Postgres, names: string[], keys: TokenKey[]) {
  const projects = await findProjectRows(postgres, names)
  const wanted = new Set(keys.map(idOf))
  const tokens = (await findTokenRows(postgres, keys)).filter(row => wanted.has(idOf(row)))
  return { projects, tokens }
}

const idOf = ({ project, tokenId = '' }: { project: string; tokenId?: string }) => `${project}#${tokenId}`
const byKey = (a: Difference, b: Difference) => (idOf(a) < idOf(b) ? -1 : 1)

function lineOf({ kind, project, tokenId, field, postgres, dynamo }: Difference): string {
  const what =
    tokenId === undefined ? `project ${quoted(project)}` : `token ${quoted(tokenId)} of project ${quoted(project)}`
  if (kind === 'missing') return `missing  ${what}`
  if (kind === 'extra') return `extra    ${what}`
  const values = `${quoted(withoutPassword(postgres))} in PostgreSQL, ${quoted(withoutPassword(dynamo))} in DynamoDB`
  return `differs  ${what}: ${field} is ${values}`
}
