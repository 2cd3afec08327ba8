import type { PageRequest } from '../dynamo/cursors.js'
import { assertMatch } from '../etag.js'
import { isUnanswered } from '../postgres/errors.js'
import type { PostgresProjects } from '../postgres/projects.js'
import type { ProjectRow, TokenRow } from '../postgres/rows.js'
import { Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import type { ProjectShadow } from './project-shadow.js'
import { type ProjectsService, tokenNotFound } from './projects.js'
import { projectNotFound } from './targets.js'
import { endOf, makeToken, parseToken, type TokenLife } from './tokens.js'

const DEFAULT_LIMIT = 25
const PAGE = 1000

/** What is not there to be deleted, or cannot be, is as it should be. */
async function gone(deletion: Promise<void>): Promise<void> {
  await deletion.catch(error => {
    if (!(error instanceof Problem) || (error.status !== 404 && error.code !== 'invalid-key')) throw error
  })
}

/**
 * The same service while PostgreSQL still answers for projects and tokens. DynamoDB is written in its shadow, and in
 * the second phase compared. What PostgreSQL has no place for, the hashes of secrets and the targets, is in DynamoDB
 * alone in every phase.
 */
export function projectPhases(
  dynamo: ProjectsService,
  postgres: PostgresProjects,
  shadow: ProjectShadow,
  { isComparing }: { isComparing: boolean },
  context: ServiceContext
): ProjectsService {
  const { cursors, now } = context

  const presentProject = ({ project, repository }: ProjectRow) => ({ name: project, repository: repository ?? '' })
  const isAlive = ({ expiresAt }: TokenRow) => Date.parse(expiresAt ?? '') > now()
  const present = (row: TokenRow) => ({
    tokenId: row.tokenId,
    createdAt: row.createdAt ?? '',
    expiresAt: row.expiresAt ?? '',
    active: isAlive(row)
  })

  async function findProject(name: string): Promise<ProjectRow> {
    const row = await postgres.findProject(name)
    if (!row) throw projectNotFound(name)
    return row
  }

  async function findToken(name: string, tokenId: string): Promise<TokenRow> {
    const found = await postgres.findToken(name, tokenId)
    if (!found) throw projectNotFound(name)
    if (!found.token) throw tokenNotFound(tokenId)
    return found.token
  }

  /** A write to PostgreSQL, after which DynamoDB can be told what was done. */
  async function told<T>(name: string, action: string, writing: Promise<T>): Promise<T> {
    return writing.catch(error => {
      if (isUnanswered(error)) shadow.lose(name, action, 'PostgreSQL did not say whether it was done')
      throw error
    })
  }

  async function createProject({ name, repository }: { name: string; repository: string }) {
    const row = { project: name, repository }
    const isNew = await told(name, 'createProject', postgres.createProject(row))
    if (!isNew) throw new Problem('project-exists', `There is a project ${name} already`)
    shadow.write(name, 'createProject', () => shadow.copyProject(name, row))
    return presentProject(row)
  }

  async function getProject(name: string) {
    if (isComparing) shadow.compareProject(name)
    return presentProject(await findProject(name))
  }

  async function* readProjectOverview(name: string) {
    if (isComparing) shadow.compareAll(name)
    const project = presentProject(await findProject(name))
    const targets = await inDynamo(name, () => targetsOf(name))
    let after = ''
    let isLast = false
    for (let rest = targets; !isLast; rest = []) {
      const rows = await postgres.listTokens(name, after, PAGE)
      const isOnePage = after === '' && rows.length < PAGE
      after = rows.at(-1)?.tokenId ?? ''
      isLast = rows.length < PAGE
      yield { project, targets: rest, tokens: rows.map(present), isLast, isOnePage }
    }
  }

  async function targetsOf(name: string) {
    const targets = []
    for await (const part of dynamo.readProjectOverview(name)) targets.push(...part.targets)
    return targets
  }

  async function updateProject(name: string, { repository }: { repository: string }, { ifMatch }: Preconditions = {}) {
    const seen = ifMatch === undefined ? undefined : await findProject(name)
    if (ifMatch !== undefined && seen) assertMatch(ifMatch, presentProject(seen))
    if (!(await told(name, 'updateProject', postgres.updateProject(name, repository, seen))))
      throw seen ? new Problem('precondition-failed') : projectNotFound(name)
    const row = { project: name, repository }
    shadow.write(name, 'updateProject', () => shadow.copyProject(name, row))
    return presentProject(row)
  }

  /** Deletions go to DynamoDB even if PostgreSQL had nothing to delete: that is how something extra there is removed. */
  async function deleteProject(name: string, { ifMatch }: Preconditions = {}): Promise<void> {
    const seen = ifMatch === undefined ? undefined : await findProject(name)
    if (ifMatch !== undefined && seen) assertMatch(ifMatch, presentProject(seen))
    const isDone = await told(name, 'deleteProject', postgres.deleteProject(name, seen))
    if (!isDone && seen) throw new Problem('precondition-failed')
    shadow.write(name, 'deleteProject', async () => {
      await gone(dynamo.deleteProject(name))
      // The name may have been taken again already.
      await shadow.copyProject(name)
    })
  }

  async function createToken(name: string, life: TokenLife) {
    const { item, answer } = makeToken(name, endOf(life, now()), context)
    const owner = await told(name, 'createToken', postgres.createToken(name, item))
    if (!owner) throw projectNotFound(name)
    const { project: _project, ...token } = item
    shadow.write(name, 'createToken', () => shadow.copyTokens(owner, [token]))
    return answer
  }

  async function listTokens(name: string, { limit = DEFAULT_LIMIT, cursor }: PageRequest) {
    const list = JSON.stringify(['tokens of PostgreSQL', name])
    const after = cursor === undefined ? '' : cursors.open(list, cursor)
    if (isComparing) shadow.compareTokens(name, after, limit)
    const [rows] = await Promise.all([postgres.listTokens(name, after, limit + 1), findProject(name)])
    const items = rows.slice(0, limit)
    const last = rows.length > limit ? items.at(-1) : undefined
    return { items: items.map(present), cursor: last ? cursors.seal(list, last.tokenId) : null }
  }

  async function getToken(name: string, tokenId: string) {
    if (isComparing) shadow.compareToken(name, tokenId)
    return present(await findToken(name, tokenId))
  }

  async function deleteToken(name: string, tokenId: string, { ifMatch }: Preconditions = {}) {
    const seen = ifMatch === undefined ? undefined : await findToken(name, tokenId)
    if (ifMatch !== undefined && seen) assertMatch(ifMatch, present(seen))
    const isDone = await told(name, 'deleteToken', postgres.deleteToken(name, tokenId, seen))
    if (!isDone && seen) throw new Problem('precondition-failed')
    shadow.write(name, 'deleteToken', () => gone(dynamo.deleteToken(name, tokenId)))
    if (!isDone) {
      await findProject(name)
      throw tokenNotFound(tokenId)
    }
  }

  async function rotateToken(name: string, tokenId: string, { graceSeconds = 0 }: { graceSeconds?: number }) {
    const { item, answer } = makeToken(name, endOf({}, now()), context)
    const lastMoment = new Date(now() + graceSeconds * 1000).toISOString()
    const done = await told(name, 'rotateToken', postgres.rotateToken(name, tokenId, item, lastMoment))
    if (!done) {
      await findToken(name, tokenId)
      throw tokenNotFound(tokenId)
    }
    const { project: _project, ...token } = item
    const old = { tokenId, createdAt: done.old.createdAt ?? '', expiresAt: done.old.expiresAt ?? '' }
    const owner = { project: name, repository: done.repository }
    shadow.write(name, 'rotateToken', () => shadow.copyTokens(owner, [token, old]))
    return answer
  }

  /** A token opens something if DynamoDB knows its hash and PostgreSQL says that it is alive. */
  async function authenticate(text: string) {
    const parts = parseToken(text)
    if (!parts) return undefined
    const { project, tokenId } = parts
    await shadow.settled(project)
    if (isComparing) shadow.compareToken(project, tokenId)
    const [known, found] = await Promise.all([dynamo.authenticate(text), postgres.findToken(project, tokenId)])
    if (!known || !found?.token || !isAlive(found.token)) return undefined
    return { project, tokenId, expiresAt: present(found.token).expiresAt }
  }

  async function introspectToken(name: string, { token }: { token: string }) {
    const found = await authenticate(token)
    return found?.project === name ? { active: true, ...found } : { active: false }
  }

  /** What only DynamoDB has, of a project that PostgreSQL has; one that is not there yet is brought there first. */
  async function inDynamo<T>(name: string, action: () => Promise<T>): Promise<T> {
    const row = await findProject(name)
    await shadow.settled(name)
    try {
      return await action()
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'project-not-found') throw error
      await shadow.bringProject(row)
      return action()
    }
  }

  return {
    createProject,
    getProject,
    readProjectOverview,
    updateProject,
    deleteProject,
    createToken,
    listTokens,
    getToken,
    deleteToken,
    rotateToken,
    authenticate,
    introspectToken,
    listTargets: (name, ...rest) => inDynamo(name, () => dynamo.listTargets(name, ...rest)),
    getTarget: (name, ...rest) => inDynamo(name, () => dynamo.getTarget(name, ...rest)),
    putTarget: (name, ...rest) => inDynamo(name, () => dynamo.putTarget(name, ...rest)),
    updateTarget: (name, ...rest) => inDynamo(name, () => dynamo.updateTarget(name, ...rest)),
    deleteTarget: (name, ...rest) => inDynamo(name, () => dynamo.deleteTarget(name, ...rest))
  }
}
