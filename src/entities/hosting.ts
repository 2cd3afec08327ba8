import { Entity, Service } from 'electrodb'
import type { Dynamo } from '../dynamo/client.js'
import { exact, key } from '../dynamo/exact.js'

/** The two tables of hosting: deployments, and the aliases under which they are served. */
export interface HostingTables {
  deployments: string
  aliases: string
}

export function hostingEntities(client: Dynamo, tables: HostingTables) {
  const inDeployments = { client, table: tables.deployments }
  const inAliases = { client, table: tables.aliases }

  /** DEPLOYMENTS / D#<DeploymentId>: what was built, and how far its stack is. Routes and the like are JSON texts. */
  const deployment = exact(
    new Entity(
      {
        model: { service: 'hosting', entity: 'Deployment', version: '1' },
        attributes: {
          deploymentId: { type: 'string', required: true, field: 'DeploymentId' },
          createDate: { type: 'string', required: true, field: 'CreateDate' },
          status: { type: 'string', required: true, field: 'Status' },
          itemVersion: { type: 'number', field: 'ItemVersion', default: 1 },
          deploymentTemplate: { type: 'string', field: 'DeploymentTemplate' },
          deploymentAlias: { type: 'string', field: 'DeploymentAlias' },
          cfStack: { type: 'string', field: 'CFStack' },
          routes: { type: 'any', field: 'Routes' },
          lambdaRoutes: { type: 'any', field: 'LambdaRoutes' },
          prerenders: { type: 'any', field: 'Prerenders' },
          /** Not in the document: the alias that came last and the change that brought it, so that a deletion sees it. */
          lastAlias: { type: 'string', field: 'LastAlias' }
        },
        indexes: {
          byId: {
            pk: key('PK', 'DEPLOYMENTS'),
            sk: key('SK', 'D#${deploymentId}')
          },
          byCreateDate: {
            index: 'CreateDateIndex',
            pk: key('PK', 'DEPLOYMENTS'),
            sk: key('GSI1SK', '${createDate}#D#${deploymentId}'),
            projection: ['createDate', 'deploymentAlias', 'deploymentId', 'status']
          }
        }
      } as const,
      inDeployments
    )
  )

  /** ROUTES / <HostnameRev>#<BasePath>: where a deployment is served, with its routes at hand. */
  const route = exact(
    new Entity(
      {
        model: { service: 'hosting', entity: 'Route', version: '1' },
        attributes: {
          hostnameRev: { type: 'string', required: true, field: 'HostnameRev' },
          basePath: { type: 'string', required: true, field: 'BasePath' },
          deploymentId: { type: 'string', required: true, field: 'DeploymentId' },
          createDate: { type: 'string', required: true, field: 'CreateDate' },
          deploymentAlias: { type: 'boolean', field: 'DeploymentAlias' },
          itemVersion: { type: 'number', field: 'ItemVersion', default: 1 },
          routes: { type: 'any', field: 'Routes' },
          lambdaRoutes: { type: 'any', field: 'LambdaRoutes' },
          prerenders: { type: 'any', field: 'Prerenders' },
          /** Not in the document: where an alias that was moved pointed before. */
          previousDeploymentId: { type: 'string', field: 'PreviousDeploymentId' }
        },
        indexes: {
          byHost: {
            pk: key('PK', 'ROUTES'),
            sk: key('SK', '${hostnameRev}#${basePath}')
          },
          byDeployment: {
            index: 'DeploymentIdIndex',
            collection: 'aliases',
            pk: key('GSI1PK', 'D#${deploymentId}'),
            sk: key('GSI1SK', '${createDate}#R#${hostnameRev}#${basePath}'),
            projection: ['basePath', 'createDate', 'deploymentId', 'deploymentAlias', 'hostnameRev']
          }
        }
      } as const,
      inAliases
    )
  )

  /** CONFIGNEXTJS / <HostnameRev>#<BasePath>: the other half of an alias that was given a config. */
  const configNextJs = exact(
    new Entity(
      {
        model: { service: 'hosting', entity: 'ConfigNextJS', version: '1' },
        attributes: {
          hostnameRev: { type: 'string', required: true, field: 'HostnameRev' },
          basePath: { type: 'string', required: true, field: 'BasePath' },
          deploymentId: { type: 'string', required: true, field: 'DeploymentId' },
          createDate: { type: 'string', required: true, field: 'CreateDate' },
          config: { type: 'any', field: 'Config' }
        },
        indexes: {
          byHost: {
            pk: key('PK', 'CONFIGNEXTJS'),
            sk: key('SK', '${hostnameRev}#${basePath}')
          },
          byDeployment: {
            index: 'DeploymentIdIndex',
            collection: 'aliases',
            pk: key('GSI1PK', 'D#${deploymentId}'),
            sk: key('GSI1SK', '${createDate}#CN#${hostnameRev}#${basePath}'),
            projection: ['basePath', 'createDate', 'deploymentId', 'hostnameRev']
          }
        }
      } as const,
      inAliases
    )
  )

  /** HISTORY#<HostnameRev>#<BasePath> / <ChangeId>: what became of an alias; only ever added to, and in no index. */
  const change = exact(
    new Entity(
      {
        model: { service: 'hosting', entity: 'AliasChange', version: '1' },
        attributes: {
          hostnameRev: { type: 'string', required: true, field: 'HostnameRev' },
          basePath: { type: 'string', required: true, field: 'BasePath' },
          changeId: { type: 'string', required: true, field: 'ChangeId' },
          action: { type: 'string', required: true, field: 'Action' },
          changeDate: { type: 'string', required: true, field: 'ChangeDate' },
          deploymentId: { type: 'string', field: 'DeploymentId' },
          previousDeploymentId: { type: 'string', field: 'PreviousDeploymentId' }
        },
        indexes: {
          byAlias: {
            pk: key('PK', 'HISTORY#${hostnameRev}#${basePath}'),
            sk: key('SK', '${changeId}')
          }
        }
      } as const,
      inAliases
    )
  )

  /** ENDED / <HostnameRev>#<BasePath>: the change that last deleted an alias, so that a new one is sure to come after it. */
  const ended = exact(
    new Entity(
      {
        model: { service: 'hosting', entity: 'EndedAlias', version: '1' },
        attributes: {
          hostnameRev: { type: 'string', required: true, field: 'HostnameRev' },
          basePath: { type: 'string', required: true, field: 'BasePath' },
          changeId: { type: 'string', required: true, field: 'ChangeId' }
        },
        indexes: {
          byHost: {
            pk: key('PK', 'ENDED'),
            sk: key('SK', '${hostnameRev}#${basePath}')
          }
        }
      } as const,
      inAliases
    )
  )

  return new Service({ deployment, route, configNextJs, change, ended }, { client })
}

export type HostingEntities = ReturnType<typeof hostingEntities>

/** The condition under which nothing is there. */
export const IS_FREE = 'attribute_not_exists(PK)'
