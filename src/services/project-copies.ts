import { setTimeout as sleep } from 'node:timers/promises'
import { commit, type Part } from '../dynamo/transact.js'
import { IS_LIVE, IS_THERE, type ProjectEntities } from '../entities/projects.js'
import { isSameMoment } from '../postgres/time.js'
import { Problem } from '../problems.js'

/** A token to be copied; the hash only where the copier knows it. */
export interface TokenCopy {
  tokenId: string
  createdAt: string
  expiresAt: string
  hashedToken?: string
}

/** A project, or more of its tokens if it has no repository. One takes part in a transaction as a whole. */
export interface ProjectCopy {
  project: string
  repository?: string
  tokens: TokenCopy[]
}

/** What became of a project or one of its tokens. */
export type Outcome =
  | { outcome: 'written' | 'skipped' }
  | { outcome: 'overwritten' | 'differing'; differences: FieldDifference[] }
  | { outcome: 'failed'; reason: string }

export interface FieldDifference {
  field: string
  wanted: string
  stored: unknown
}

export type Report = (copy: ProjectCopy, token: TokenCopy | undefined, outcome: Outcome) => void

/** Whether what differs is changed. */
export type Overwrite = boolean | 'tokens'

/** The parts of a transaction at most. */
export const MAX_PARTS = 100
const MAX_ROUNDS = 12
const MAX_TRIES = 8

/** One item on its way; a project whose own item needs nothing is still checked for its tokens. */
interface Step {
  copy: ProjectCopy
  token?: TokenCopy
  how: 'create' | 'check' | 'patch' | 'done'
  differences: FieldDifference[]
}

const partsOf = (copy: ProjectCopy) => 1 + copy.tokens.length
export const sizeOf = (copies: ProjectCopy[]) => copies.reduce((sum, copy) => sum + partsOf(copy), 0)

/** In what a stored project differs from the copy. */
export function projectDifferences(copy: { repository: string }, stored: { repository?: unknown }): FieldDifference[] {
  return stored.repository === copy.repository
    ? []
    : [{ field: 'repository', wanted: copy.repository, stored: stored.repository }]
}

/** In what a stored token differs from the copy. Times are compared as moments, and must be ISO 8601 in UTC. */
export function tokenDifferences(copy: TokenCopy, stored: Partial<TokenCopy>): FieldDifference[] {
  const differences: FieldDifference[] = []
  if (!isSameMoment(stored.createdAt, copy.createdAt))
    differences.push({ field: 'created_at', wanted: copy.createdAt, stored: stored.createdAt })
  if (!isSameMoment(stored.expiresAt, copy.expiresAt))
    differences.push({ field: 'expires_at', wanted: copy.expiresAt, stored: stored.expiresAt })
  if (copy.hashedToken !== undefined && copy.hashedToken !== stored.hashedToken)
    differences.push({ field: 'hashed_token', wanted: '(hidden)', stored: stored.hashedToken && '(hidden)' })
  return differences
}

/**
 * Copies projects and tokens into the table. Each call is one transaction of conditional writes that gives back what
 * stands in its way: what is there and equal is skipped, what differs is left, or changed if `overwrite` says so of all or
 * of tokens alone. It can be repeated at will.
 */
export function projectCopies(entities: ProjectEntities) {
  async function copyAll(
    copies: ProjectCopy[],
    { overwrite }: { overwrite: Overwrite },
    report: Report
  ): Promise<void> {
    let steps = copies.flatMap(stepsOf)
    for (let round = 0; steps.length > 0; round++) {
      if (round === MAX_ROUNDS) throw new Problem('concurrent-changes')
      // What is told in the first round is enough for a second, unless others write the same items.
      if (round > 1) await sleep(Math.random() * 10 * 2 ** round)
      const cancelled = await commitPatiently(steps)
      if (cancelled === null) {
        for (const step of steps) finish(step, report)
        return
      }
      const lost = new Map<ProjectCopy, string>()
      steps.forEach((step, i) => {
        const part = cancelled[i]
        if (!part?.rejected) return
        if (step.token) reconsiderToken(step, step.token, part, overwrite !== false, report)
        else reconsiderProject(step, part, overwrite === true, report, reason => lost.set(step.copy, reason))
      })
      for (const { copy, token, how } of steps) {
        const reason = lost.get(copy)
        if (reason && token && how !== 'done') report(copy, token, { outcome: 'failed', reason })
      }
      steps = remaining(steps.filter(step => !lost.has(step.copy)))
    }
  }

  /** The transaction, tried again while DynamoDB is too busy for it. */
  async function commitPatiently(steps: Step[]): Promise<Part[] | null> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await commit(entities.transaction.write(all => steps.map(step => operationOf(all, step)) as never))
      } catch (error) {
        const isBusy = error instanceof Problem && error.code === 'database-unavailable'
        if (!isBusy || attempt === MAX_TRIES) throw error
        await sleep(Math.random() * Math.min(100 * 2 ** attempt, 5000))
      }
    }
  }

  return { copyAll }
}

function stepsOf(copy: ProjectCopy): Step[] {
  const project: Step = { copy, how: copy.repository === undefined ? 'check' : 'create', differences: [] }
  return [project, ...copy.tokens.map(token => ({ copy, token, how: 'create' as const, differences: [] }))]
}

type Writers = Parameters<Parameters<ProjectEntities['transaction']['write']>[0]>[0]

function operationOf({ project, token }: Writers, step: Step) {
  const { copy, how } = step
  const name = { project: copy.project }
  if (!step.token) {
    const repository = copy.repository ?? ''
    if (how === 'create') return project.create({ ...name, repository }).commit({ response: 'all_old' })
    const isLive = () => IS_LIVE
    if (how === 'check') return project.check(name).where(isLive).commit({ response: 'all_old' })
    return project.patch(name).set({ repository }).where(isLive).commit({ response: 'all_old' })
  }
  const { tokenId, ...content } = step.token
  if (how === 'create') return token.create({ ...name, tokenId, ...content }).commit({ response: 'all_old' })
  return token
    .patch({ ...name, tokenId })
    .set(content)
    .where(() => IS_THERE)
    .commit({ response: 'all_old' })
}

/** The transaction went through, and with it each of its parts. */
function finish({ copy, token, how, differences }: Step, report: Report): void {
  if (how === 'create') report(copy, token, { outcome: 'written' })
  if (how === 'patch') report(copy, token, { outcome: 'overwritten', differences })
}

/** A token's condition did not hold: what stands there decides what becomes of it. */
function reconsiderToken(step: Step, token: TokenCopy, { item }: Part, overwrite: boolean, report: Report): void {
  if (item === null) {
    step.how = 'create'
    return
  }
  step.differences = tokenDifferences(token, item)
  if (step.differences.length > 0 && overwrite) {
    step.how = 'patch'
    return
  }
  step.how = 'done'
  report(step.copy, token, leftAs(step.differences))
}

/** The same for a project, without which its tokens cannot be. */
function reconsiderProject(
  step: Step,
  { item }: Part,
  overwrite: boolean,
  report: Report,
  lose: (reason: string) => void
): void {
  const { copy, how } = step
  if (item === null && how === 'patch') {
    step.how = 'create'
    return
  }
  if (item === null || item.deleting !== undefined) {
    const reason = item ? `the project ${copy.project} is being deleted` : `there is no project ${copy.project}`
    if (how !== 'check') report(copy, undefined, { outcome: 'failed', reason })
    lose(reason)
    return
  }
  step.differences = projectDifferences({ repository: copy.repository ?? '' }, item)
  const changes = step.differences.length > 0 && overwrite
  step.how = changes ? 'patch' : 'check'
  if (!changes) report(copy, undefined, leftAs(step.differences))
}

const leftAs = (differences: FieldDifference[]): Outcome =>
  differences.length ? { outcome: 'differing', differences } : { outcome: 'skipped' }

function remaining(steps: Step[]): Step[] {
  const withTokens = new Set(steps.filter(step => step.token && step.how !== 'done').map(step => step.copy))
  return steps.filter(({ copy, how }) => how !== 'done' && (how !== 'check' || withTokens.has(copy)))
}
