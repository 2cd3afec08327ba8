import { unchanged } from '../dynamo/conditions.js'
import { commit } from '../dynamo/transact.js'
import { type HostingEntities, IS_FREE } from '../entities/hosting.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import { type AliasWrites, nameOf, type Pointer, retried, showName, stillThere } from './alias-writes.js'
import type { Preconditions } from './context.js'
import { type Status, sourcesOf } from './deployment-status.js'
import {
  type DeploymentActions,
  invalidTransition,
  presentDeployment,
  type StoredDeployment,
  stillSo
} from './deployments.js'
import type { AliasName } from './hostnames.js'

const DESTROY: Status = 'DESTROY_REQUESTED'
const LAST_STEPS = ['DESTROY_IN_PROGRESS', 'DESTROY_FAILED']
/** Each takes four parts of a transaction, which has a hundred. */
const OWN_AT_ONCE = 24

/**
 * Deletes a deployment with its own alias, in an order that no new alias can slip through: the deployment is read, then
 * the index, and the write holds only while no alias has come since. Each alias that comes leaves its name on the
 * deployment, and the last of them is looked at in the write itself, for the index may lag behind.
 */
export function deploymentDeletion(
  service: HostingEntities,
  { removal }: AliasWrites,
  { findDeployment }: DeploymentActions
) {
  /** `undefined` when it is gone, or the deployment whose destruction has been requested. */
  async function deleteDeploymentById(id: string, { force = false }: { force?: boolean }, demands: Preconditions = {}) {
    const { destroying } = await retried(async () => {
      const seen = await findDeployment(id, { consistent: true })
      if (demands.ifMatch !== undefined) assertMatch(demands.ifMatch, presentDeployment(seen))
      const own = await ownAliases(id)
      const isRemoved = endsNow(seen, force)
      if (!isRemoved && !sourcesOf(DESTROY).some(status => status === seen.status)) {
        throw invalidTransition(id, seen.status, DESTROY)
      }
      while (own.length > OWN_AT_ONCE) {
        if (!(await removeOwn(own.splice(0, OWN_AT_ONCE)))) return undefined
      }
      if (!(await remove(seen, own, isRemoved))) return undefined
      return { destroying: isRemoved ? undefined : presentDeployment({ ...seen, status: DESTROY }) }
    })
    return destroying
  }

  /** The deployment's own aliases, on however many pages; refuses if there are others. */
  async function ownAliases(deploymentId: string): Promise<Pointer[]> {
    const own: Pointer[] = []
    let cursor: string | null = null
    do {
      const page: { data: { route: Pointer[] }; cursor: string | null } = await service.collections
        .aliases({ deploymentId })
        .go({ cursor, ignoreOwnership: true })
      const other = page.data.route.find(row => !row.deploymentAlias)
      if (other) throw aliasesExist(deploymentId, other)
      own.push(...page.data.route)
      cursor = page.cursor
    } while (cursor !== null)
    return own
  }

  const removeOwn = async (own: Pointer[]) =>
    (await commit(service.transaction.write(parts => own.flatMap(alias => ownParts(parts, alias))))) === null

  function ownParts(parts: Parameters<typeof removal>[0], alias: Pointer) {
    const { hostnameRev, basePath } = alias
    const { config, notes } = removal(parts, alias)
    return [parts.route.remove({ hostnameRev, basePath }).where(stillThere(alias)).commit(), config, ...notes]
  }

  /** The one write; false if anything has changed since it was read. */
  async function remove(seen: StoredDeployment, own: Pointer[], isRemoved: boolean): Promise<boolean> {
    const { deploymentId } = seen
    const noneCame = unchanged(['lastAlias'], { ...seen })
    const last = lastAliasOf(seen)
    const isOwn = last && own.some(alias => nameOf(alias) === nameOf(last))
    const cancelled = await commit(
      service.transaction.write(parts => [
        isRemoved
          ? parts.deployment.remove({ deploymentId }).where(stillSo(seen)).where(noneCame).commit()
          : parts.deployment
              .patch({ deploymentId })
              .set({ status: DESTROY })
              .where(stillSo(seen))
              .where(noneCame)
              .commit(),
        ...own.flatMap(alias => ownParts(parts, alias)),
        ...(last && !isOwn
          ? [
              parts.route
                .check(last)
                .where((attr, op) => `(${IS_FREE} OR ${op.ne(attr.deploymentId, deploymentId)})`)
                .commit()
            ]
          : [])
      ])
    )
    if (cancelled && last && !isOwn && cancelled.at(-1)?.rejected && !cancelled[0]?.rejected) {
      throw aliasesExist(deploymentId, last)
    }
    return cancelled === null
  }

  return deleteDeploymentById
}

const aliasesExist = (id: string, name: AliasName) =>
  new Problem('aliases-exist', `The alias ${showName(name)} points at the deployment ${id}`)

/** Whether there is nothing left to destroy but the item. */
function endsNow({ status, cfStack }: StoredDeployment, force: boolean): boolean {
  return status === 'INITIALIZED' || cfStack === undefined || (force && LAST_STEPS.includes(status))
}

/** The alias that came last, out of `<HostnameRev>#<BasePath>#<ChangeId>`. */
function lastAliasOf({ lastAlias }: StoredDeployment): AliasName | undefined {
  const [hostnameRev, basePath] = lastAlias?.split('#') ?? []
  return hostnameRev && basePath ? { hostnameRev, basePath } : undefined
}
