import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { readTogether } from '../dynamo/transact.js'
import type { HostingEntities } from '../entities/hosting.js'
import { Problem } from '../problems.js'
import {
  type AliasWrites,
  aliasNotFound,
  type presentAlias,
  type StoredConfig,
  type StoredRoute,
  showName
} from './alias-writes.js'
import { assertStays, ownAlias } from './aliases.js'
import type { ServiceContext } from './context.js'
import type { AliasName } from './hostnames.js'

export interface Revert {
  /** A change in the history: the alias shall point where it did after that one. */
  to?: string
  /** The deployment that the alias must still point at. */
  from?: string
}

interface StoredChange {
  changeId: string
  action: string
  changeDate: string
  deploymentId?: string
  previousDeploymentId?: string
}

const presentChange = ({ changeId, action, changeDate, deploymentId, previousDeploymentId }: StoredChange) => ({
  changeId,
  action,
  changeDate,
  deploymentId: deploymentId ?? null,
  previousDeploymentId: previousDeploymentId ?? null
})

/** Where aliases pointed before, and back. */
export function aliasHistory(service: HostingEntities, { look, place }: AliasWrites, { cursors }: ServiceContext) {
  const { route, change } = service.entities

  /** Newest first; an alias that was deleted has its history still. */
  async function listAliasHistory(name: AliasName, request: PageRequest) {
    const page = await readPage(cursors, ['history', name.hostnameRev, name.basePath], request, options =>
      change.query.byAlias(name).go({ ...options, order: 'desc' })
    )
    if (page.items.length === 0 && request.cursor === undefined) {
      const { data } = await route.get(name).go({ attributes: ['deploymentId'] })
      if (!data) throw aliasNotFound(name)
    }
    return { ...page, items: page.items.map(presentChange) }
  }

  /** Points an alias back, if it still is what was read: of two callers who revert at once, one is told so. */
  async function revertAlias(name: AliasName, { to, from }: Revert) {
    const [found, foundConfig, wanted] = await readTogether(
      service.transaction.get(({ route, configNextJs, change }) => [
        route.get(name).commit(),
        configNextJs.get(name).commit(),
        ...(to === undefined ? [] : [change.get({ ...name, changeId: to }).commit()])
      ])
    )
    const seen = found as StoredRoute | null
    if (!seen) throw aliasNotFound(name)
    if (seen.deploymentAlias) throw ownAlias(name)
    if (to !== undefined && !wanted) throw new Problem('change-not-found', `${showName(name)} has no change ${to}`)
    if (from !== undefined && from !== seen.deploymentId) {
      throw new Problem('concurrent-changes', `The alias ${showName(name)} points at ${seen.deploymentId}, not ${from}`)
    }
    const deploymentId = to === undefined ? seen.previousDeploymentId : (wanted as StoredChange).deploymentId
    if (deploymentId === undefined) throw new Problem('nothing-to-revert')
    const deployment = (await look({ deployments: [deploymentId] })).deployments.get(deploymentId)
    if (!deployment) throw new Problem('target-not-found', `The deployment ${deploymentId} is gone`)
    assertStays(deployment)
    const seenConfig = (foundConfig ?? undefined) as StoredConfig | undefined
    const done = await place([{ name, deployment, seen, seenConfig, action: 'reverted' }])
    if (!done) throw new Problem('concurrent-changes', `The alias ${showName(name)} was changed by another caller`)
    return done[0] as ReturnType<typeof presentAlias>
  }

  return { listAliasHistory, revertAlias }
}
