import type { TableId } from '../dynamo/tables.js'

/**
 * What the API asks of each table, as IAM names it, and on which indexes it asks. The policies are made of it, and the
 * tests fail for every request that it does not name. Transactions are authorised by their parts.
 */
export interface TableAccess {
  actions: readonly Action[]
  /** The indexes that are queried. */
  indexes: readonly string[]
}

export type Action =
  | 'GetItem'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem'
  | 'Query'
  | 'Scan'
  | 'BatchGetItem'
  | 'BatchWriteItem'

export const access: Record<TableId, TableAccess> = {
  deployments: {
    actions: ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
    indexes: ['CreateDateIndex']
  },
  aliases: {
    actions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
    indexes: ['DeploymentIdIndex']
  },
  layers: {
    actions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
    indexes: ['package_global', 'deployed_in_region']
  },
  tenants: {
    actions: ['GetItem', 'Query', 'Scan', 'UpdateItem', 'DeleteItem'],
    indexes: []
  },
  projects: {
    // BatchGetItem is for the comparison with PostgreSQL during a migration.
    actions: [
      'GetItem',
      'BatchGetItem',
      'Query',
      'PutItem',
      'UpdateItem',
      'DeleteItem',
      'ConditionCheckItem',
      'BatchWriteItem'
    ],
    indexes: []
  },
  realtime: {
    actions: ['GetItem', 'Query', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
    indexes: ['gsi1']
  }
}
