/** Every table once: its creation, its template, its policy and its check at start come from here. */

export const domains = ['hosting', 'layers', 'tenants', 'projects', 'realtime'] as const
export type Domain = (typeof domains)[number]

export interface Index {
  name: string
  hash: string
  range?: string
  /** The attributes an INCLUDE index carries, or everything. */
  projection: 'ALL' | readonly string[]
}

export interface TableDefinition {
  domain: Domain
  /** The variable that can name the table otherwise. */
  variable: string
  defaultName: string
  /** All key attributes are strings. */
  hash: string
  range: string
  indexes: readonly Index[]
  ttl?: string
  stream?: 'NEW_AND_OLD_IMAGES'
}

export const tables = {
  deployments: {
    domain: 'hosting',
    variable: 'DEPLOYMENT_TABLE',
    defaultName: 'DeploymentTable',
    hash: 'PK',
    range: 'SK',
    indexes: [
      {
        name: 'CreateDateIndex',
        hash: 'PK',
        range: 'GSI1SK',
        projection: ['CreateDate', 'DeploymentAlias', 'DeploymentId', 'Status']
      }
    ]
  },
  aliases: {
    domain: 'hosting',
    variable: 'ALIAS_TABLE',
    defaultName: 'AliasTable',
    hash: 'PK',
    range: 'SK',
    indexes: [
      {
        name: 'DeploymentIdIndex',
        hash: 'GSI1PK',
        range: 'GSI1SK',
        projection: ['BasePath', 'CreateDate', 'DeploymentId', 'DeploymentAlias', 'HostnameRev']
      }
    ]
  },
  layers: {
    domain: 'layers',
    variable: 'LAYERS_TABLE',
    defaultName: 'layers',
    hash: 'pk',
    range: 'sk',
    indexes: [
      { name: 'package_global', hash: 'pckg', range: 'dplySts', projection: 'ALL' },
      { name: 'deployed_in_region', hash: 'rgn', range: 'dplySts', projection: 'ALL' }
    ],
    ttl: 'exDt',
    stream: 'NEW_AND_OLD_IMAGES'
  },
  tenants: {
    domain: 'tenants',
    variable: 'TENANTS_TABLE',
    defaultName: 'tenants',
    hash: 'pk',
    range: 'sk',
    indexes: []
  },
  projects: {
    domain: 'projects',
    variable: 'PROJECTS_TABLE',
    defaultName: 'cello',
    hash: 'pk',
    range: 'sk',
    indexes: []
  },
  realtime: {
    domain: 'realtime',
    variable: 'REALTIME_TABLE',
    defaultName: 'compose',
    hash: 'pk',
    range: 'sk',
    indexes: [{ name: 'gsi1', hash: 'gsi1pk', range: 'gsi1sk', projection: 'ALL' }],
    ttl: 'ttl'
  }
} as const satisfies Record<string, TableDefinition>

export type TableId = keyof typeof tables
/** What each table is called where we run. */
export type TableNames = Record<TableId, string>

/** The attributes that are keys of a table or of one of its indexes. */
export function keyNames(table: TableDefinition): string[] {
  const all = [table.hash, table.range, ...table.indexes.flatMap(index => [index.hash, index.range ?? []].flat())]
  return [...new Set(all)]
}

export const tableKeyNames = [...new Set(Object.values(tables).flatMap(keyNames))]

export function tablesOf(chosen: readonly Domain[]): [TableId, TableDefinition][] {
  const all = Object.entries(tables) as [TableId, TableDefinition][]
  return all.filter(([, table]) => chosen.includes(table.domain))
}
