import type { Dynamo } from '../dynamo/client.js'
import { unchanged } from '../dynamo/conditions.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { commit, readTogether } from '../dynamo/transact.js'
import { IS_LIVE, IS_THERE, projectEntities } from '../entities/projects.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import { projectDeletion } from './project-deletion.js'
import { projectOverview } from './project-overview.js'
import { projectNotFound, targetActions } from './targets.js'
import { endOf, isSecret, makeToken, parseToken, type TokenLife } from './tokens.js'

interface StoredToken {
  project: string
  tokenId: string
  createdAt: string
  expiresAt: string
  hashedToken?: string
}

export interface StoredProject {
  project: string
  repository: string
  deleting?: unknown
}

export const tokenNotFound = (id: string) => new Problem('token-not-found', `There is no token ${id} in this project`)

/** What can be done with Cello's projects, tokens and targets. */
export function projectsService(dynamo: Dynamo, table: string, context: ServiceContext) {
  const entities = projectEntities(dynamo, table)
  const { project, token } = entities.entities
  const { cursors, now } = context

  const presentProject = (item: StoredProject) => ({ name: item.project, repository: item.repository })
  const isExpired = (item: StoredToken) => !(Date.parse(item.expiresAt) > now())
  const present = (item: StoredToken) => ({
    tokenId: item.tokenId,
    createdAt: item.createdAt,
    expiresAt: item.expiresAt,
    active: item.hashedToken !== undefined && !isExpired(item)
  })

  async function createProject({ name, repository }: { name: string; repository: string }) {
    const { rejected, data } = await project
      .create({ project: name, repository })
      .go({ returnOnConditionCheckFailure: 'all_old' })
    if (!rejected) return { name, repository }
    const isDeleting = (data as StoredProject | null)?.deleting !== undefined
    throw isDeleting
      ? new Problem('project-deleting', `The project ${name} is being deleted; its name is free once that is done`)
      : new Problem('project-exists', `There is a project ${name} already`)
  }

  /** The project, if it is there for its callers. */
  function assertLive(name: string, item?: StoredProject | null): StoredProject {
    if (!item || item.deleting !== undefined) throw projectNotFound(name)
    return item
  }

  async function findProject(name: string, options: { consistent?: true } = {}): Promise<StoredProject> {
    const { data } = await project.get({ project: name }).go(options)
    return assertLive(name, data)
  }

  async function getProject(name: string) {
    return presentProject(await findProject(name))
  }

  async function updateProject(name: string, { repository }: { repository: string }, { ifMatch }: Preconditions = {}) {
    const seen = ifMatch === undefined ? undefined : await findProject(name, { consistent: true })
    if (ifMatch !== undefined && seen) assertMatch(ifMatch, presentProject(seen))
    const { rejected, data } = await project
      .patch({ project: name })
      .set({ repository })
      .where((attr, op) => `${IS_LIVE} ${seen ? `AND ${unchanged(['repository'], { ...seen })(attr, op)}` : ''}`)
      .go({ response: 'all_new', returnOnConditionCheckFailure: true })
    if (rejected) throw seen ? new Problem('precondition-failed') : projectNotFound(name)
    return presentProject(data as StoredProject)
  }

  async function createToken(name: string, life: TokenLife) {
    const { item, answer } = makeToken(name, endOf(life, now()), context)
    const cancelled = await commit(
      entities.transaction.write(({ project, token }) => [
        project
          .check({ project: name })
          .where(() => IS_LIVE)
          .commit(),
        token.create(item).commit()
      ])
    )
    if (cancelled) throw projectNotFound(name)
    return answer
  }

  async function listTokens(name: string, request: PageRequest) {
    const [page] = await Promise.all([
      readPage(cursors, ['tokens', name], request, options => token.query.byProject({ project: name }).go(options)),
      findProject(name)
    ])
    return { ...page, items: page.items.map(present) }
  }

  async function findToken(name: string, tokenId: string): Promise<StoredToken> {
    const [metadata, item] = await readTogether(
      entities.transaction.get(({ project, token }) => [
        project.get({ project: name }).commit(),
        token.get({ project: name, tokenId }).commit()
      ])
    )
    assertLive(name, metadata as StoredProject | null)
    if (!item) throw tokenNotFound(tokenId)
    return item as StoredToken
  }

  async function getToken(name: string, tokenId: string) {
    return present(await findToken(name, tokenId))
  }

  async function deleteToken(name: string, tokenId: string, { ifMatch }: Preconditions = {}) {
    const seen = ifMatch === undefined ? undefined : await findToken(name, tokenId)
    if (ifMatch !== undefined && seen) assertMatch(ifMatch, present(seen))
    const stillSo = unchanged(['createdAt', 'expiresAt', 'hashedToken'], { ...seen })
    const cancelled = await commit(
      entities.transaction.write(({ project, token }) => [
        project
          .check({ project: name })
          .where(() => IS_LIVE)
          .commit(),
        token
          .remove({ project: name, tokenId })
          .where((attr, op) => (seen ? stillSo(attr, op) : IS_THERE))
          .commit()
      ])
    )
    if (!cancelled) return
    if (cancelled[0]?.rejected) throw projectNotFound(name)
    throw seen ? new Problem('precondition-failed') : tokenNotFound(tokenId)
  }

  /** A new token; the old one ends after the grace period, or when it would have ended anyway. */
  async function rotateToken(name: string, tokenId: string, { graceSeconds = 0 }: { graceSeconds?: number }) {
    const { item, answer } = makeToken(name, endOf({}, now()), context)
    const lastMoment = new Date(now() + graceSeconds * 1000).toISOString()
    const rotate = (old: 'shorten' | 'leave') =>
      commit(
        entities.transaction.write(({ project, token }) => [
          project
            .check({ project: name })
            .where(() => IS_LIVE)
            .commit(),
          token.create(item).commit(),
          old === 'leave'
            ? token
                .check({ project: name, tokenId })
                .where(() => IS_THERE)
                .commit()
            : token
                .patch({ project: name, tokenId })
                .set({ expiresAt: lastMoment })
                .where(({ expiresAt }, { gt }) => gt(expiresAt, lastMoment))
                .commit({ response: 'all_old' })
        ])
      )
    let cancelled = await rotate('shorten')
    if (cancelled?.[2]?.item && !cancelled[0]?.rejected) cancelled = await rotate('leave')
    if (cancelled?.[0]?.rejected) throw projectNotFound(name)
    if (cancelled) throw tokenNotFound(tokenId)
    return answer
  }

  /** The token that a text is, if it is alive at this moment: an unknown, wrong or expired one is nothing. */
  async function authenticate(text: string) {
    const parts = parseToken(text)
    if (!parts) return undefined
    const found = await findToken(parts.project, parts.tokenId).catch(error => {
      // Not there, or too long to be there.
      if (error instanceof Problem && error.status < 500) return undefined
      throw error
    })
    const isRight = isSecret(parts.secret, found?.hashedToken)
    if (!found || !isRight || isExpired(found)) return undefined
    return { project: parts.project, tokenId: parts.tokenId, expiresAt: found.expiresAt }
  }

  async function introspectToken(name: string, { token: text }: { token: string }) {
    const found = await authenticate(text)
    return found?.project === name ? { active: true, ...found } : { active: false }
  }

  const targets = targetActions(dynamo, entities, context, findProject)
  return {
    createProject,
    getProject,
    readProjectOverview: projectOverview(dynamo, entities, {
      project: (name, item) => presentProject(assertLive(name, item as StoredProject | undefined)),
      target: targets.present,
      token: present
    }),
    updateProject,
    deleteProject: projectDeletion(dynamo, entities, context, presentProject),
    createToken,
    listTokens,
    getToken,
    deleteToken,
    rotateToken,
    authenticate,
    introspectToken,
    listTargets: targets.listTargets,
    getTarget: targets.getTarget,
    putTarget: targets.putTarget,
    updateTarget: targets.updateTarget,
    deleteTarget: targets.deleteTarget
  }
}

export type ProjectsService = ReturnType<typeof projectsService>
