import { unchanged } from '../dynamo/conditions.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import type { Item } from '../dynamo/values.js'
import type { HostingEntities } from '../entities/hosting.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import { type Status, sourcesOf } from './deployment-status.js'
import { fromText, toText } from './json-text.js'

export interface StoredDeployment {
  deploymentId: string
  createDate: string
  status: string
  deploymentTemplate?: string
  deploymentAlias?: string
  cfStack?: string
  routes?: unknown
  lambdaRoutes?: unknown
  prerenders?: unknown
  lastAlias?: string
}

/** What may be told together with a status. */
export interface StatusFields {
  cfStack?: string
  deploymentAlias?: string
  routes?: Item
  lambdaRoutes?: Item
  prerenders?: Item
}

/** What callers see of a deployment. */
const SHOWN = ['status', 'deploymentTemplate', 'deploymentAlias', 'cfStack', 'routes', 'lambdaRoutes', 'prerenders']

/** The condition that a deployment still is what was seen of it. */
export const stillSo = (seen: StoredDeployment) => unchanged(SHOWN, { ...seen })

export const deploymentNotFound = (id: string) => new Problem('deployment-not-found', `There is no deployment ${id}`)
export const invalidTransition = (id: string, from: string, to: string) =>
  new Problem('invalid-transition', `The deployment ${id} is ${from}, from where it cannot become ${to}`)

/** A deployment as callers see it. */
export function presentDeployment({ routes, lambdaRoutes, prerenders, ...item }: StoredDeployment) {
  return {
    deploymentId: item.deploymentId,
    createDate: item.createDate,
    status: item.status,
    deploymentTemplate: item.deploymentTemplate,
    deploymentAlias: item.deploymentAlias,
    cfStack: item.cfStack,
    routes: routes === undefined ? undefined : fromText(routes),
    lambdaRoutes: lambdaRoutes === undefined ? undefined : fromText(lambdaRoutes),
    prerenders: prerenders === undefined ? undefined : fromText(prerenders)
  }
}

/** The actions on deployments, but for their deletion. */
export function deploymentActions(
  { entities: { deployment } }: HostingEntities,
  { cursors, now, randomBytes }: ServiceContext
) {
  async function createDeployment(request: { deploymentId?: string; deploymentTemplate?: string }) {
    const item = {
      deploymentId: request.deploymentId ?? randomBytes(16).toString('hex'),
      createDate: new Date(now()).toISOString(),
      status: 'INITIALIZED',
      deploymentTemplate: request.deploymentTemplate ?? 'FUNCTION_URLS'
    }
    const { rejected } = await deployment.create(item).go({ returnOnConditionCheckFailure: true })
    if (rejected) throw new Problem('deployment-exists', `There is a deployment ${item.deploymentId} already`)
    return presentDeployment(item)
  }

  async function findDeployment(deploymentId: string, options: { consistent?: true } = {}): Promise<StoredDeployment> {
    const { data } = await deployment.get({ deploymentId }).go(options)
    if (!data) throw deploymentNotFound(deploymentId)
    // What was asked for is written to later, whatever the item says of itself.
    return { ...data, deploymentId }
  }

  async function getDeploymentById(deploymentId: string) {
    return presentDeployment(await findDeployment(deploymentId))
  }

  /** Newest first, with what the index carries. */
  async function listDeployments({ status, ...request }: PageRequest & { status?: Status }) {
    const page = await readPage(cursors, ['deployments', status], request, options =>
      deployment.query
        .byCreateDate({})
        .where((attr, op) => (status === undefined ? '' : op.eq(attr.status, status as string)))
        .go({ ...options, order: 'desc' })
    )
    const present = ({ deploymentId, createDate, status, deploymentAlias }: StoredDeployment) => ({
      deploymentId,
      createDate,
      status,
      deploymentAlias
    })
    return { ...page, items: page.items.map(present) }
  }

  /** One conditional write; the image says why it was refused. */
  function write(id: string, to: Status, from: readonly Status[], fields: StatusFields, seen?: StoredDeployment) {
    const { routes, lambdaRoutes, prerenders, ...plain } = fields
    const texts = Object.entries({ routes, lambdaRoutes, prerenders }).filter(([, value]) => value !== undefined)
    return deployment
      .patch({ deploymentId: id })
      .set({ status: to, ...plain, ...Object.fromEntries(texts.map(([name, value]) => [name, toText(value)])) })
      .where((attr, op) => {
        const isLegal = `(${from.map(status => op.eq(attr.status, status as string)).join(' OR ')})`
        return seen ? `${isLegal} AND ${stillSo(seen)(attr, op)}` : isLegal
      })
      .go({ response: 'all_new', returnOnConditionCheckFailure: 'all_old' })
  }

  async function findMatching(id: string, ifMatch: string | undefined) {
    if (ifMatch === undefined) return undefined
    const seen = await findDeployment(id)
    assertMatch(ifMatch, presentDeployment(seen))
    return seen
  }

  async function move(id: string, to: Status, from: Status[], fields: StatusFields, seen?: StoredDeployment) {
    const { rejected, data } = await write(id, to, from, fields, seen)
    const item = data as StoredDeployment | null
    if (!item) throw deploymentNotFound(id)
    return { rejected: rejected === true, item }
  }

  function answer(to: Status, { rejected, item }: { rejected: boolean; item: StoredDeployment }) {
    if (!rejected) return presentDeployment(item)
    const isLegal = sourcesOf(to).some(status => status === item.status)
    throw isLegal ? new Problem('precondition-failed') : invalidTransition(item.deploymentId, item.status, to)
  }

  /** The general case, and that of the statuses without an action of their own. */
  async function updateDeploymentStatus(
    id: string,
    { status, ...fields }: StatusFields & { status: Status },
    { ifMatch }: Preconditions = {}
  ) {
    const seen = await findMatching(id, ifMatch)
    return answer(status, await move(id, status, sourcesOf(status), fields, seen))
  }

  /** An action for one status. */
  const updateTo = (status: Status) => (id: string, fields: StatusFields, demands?: Preconditions) =>
    updateDeploymentStatus(id, { ...fields, status }, demands)

  /**
   * Lambda routes are known only when the stack is done, so they are reset; but not when the event arrives again,
   * which must change nothing that it does not say.
   */
  async function updateDeploymentStatusCreateInProgress(id: string, fields: StatusFields, demands: Preconditions = {}) {
    const to = 'CREATE_IN_PROGRESS'
    if (fields.lambdaRoutes !== undefined) return updateDeploymentStatus(id, { ...fields, status: to }, demands)
    const seen = await findMatching(id, demands.ifMatch)
    const begun = await move(id, to, ['INITIALIZED'], { ...fields, lambdaRoutes: {} }, seen)
    const isRepeated = begun.rejected && begun.item.status === to
    if (!isRepeated) return answer(to, begun)
    const saysNothing = Object.values(fields).every(value => value === undefined)
    if (saysNothing && !seen) return presentDeployment(begun.item)
    return answer(to, await move(id, to, [to], fields, seen))
  }

  return {
    findDeployment,
    createDeployment,
    getDeploymentById,
    listDeployments,
    updateDeploymentStatus,
    updateDeploymentStatusCreateInProgress,
    updateDeploymentStatusCreateFailed: updateTo('CREATE_FAILED'),
    updateDeploymentStatusFinished: updateTo('FINISHED'),
    updateDeploymentStatusDestroyRequested: updateTo('DESTROY_REQUESTED'),
    updateDeploymentStatusDestroyInProgress: updateTo('DESTROY_IN_PROGRESS'),
    updateDeploymentStatusDestroyFailed: updateTo('DESTROY_FAILED')
  }
}

export type DeploymentActions = ReturnType<typeof deploymentActions>
