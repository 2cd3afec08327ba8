import type { Dynamo } from '../dynamo/client.js'
import { type HostingTables, hostingEntities } from '../entities/hosting.js'
import { aliasHistory } from './alias-history.js'
import { aliasWrites } from './alias-writes.js'
import { aliasActions } from './aliases.js'
import type { ServiceContext } from './context.js'
import { deploymentDeletion } from './deployment-deletion.js'
import { deploymentActions } from './deployments.js'
import { resolveAction } from './resolve.js'

/** What can be done with deployments and the aliases under which they are served. */
export function hostingService(dynamo: Dynamo, tables: HostingTables, context: ServiceContext) {
  const entities = hostingEntities(dynamo, tables)
  const writes = aliasWrites(entities, context)
  const deployments = deploymentActions(entities, context)
  const aliases = aliasActions(entities, writes, context, deployments)
  return {
    ...deployments,
    deleteDeploymentById: deploymentDeletion(entities, writes, deployments),
    ...aliases,
    getAliasByHostname: resolveAction(dynamo, entities, aliases),
    ...aliasHistory(entities, writes, context)
  }
}

export type HostingService = ReturnType<typeof hostingService>
