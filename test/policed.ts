import type { Config } from '../src/config.js'
import type { DynamoRequest } from '../src/dynamo/client.js'
import { type TableId, tablesOf } from '../src/dynamo/tables.js'
import { type Action, access } from '../src/infra/access.js'
import type { Test } from './helpers.js'

/** Every app of the tests may do what its IAM policy allows, so that a policy too narrow fails a test, not a user. */

type Input = Record<string, unknown>
interface Part {
  TableName: string
  IndexName?: string
}

/** What a request asks of IAM: an action on a table or on an index of it. */
export interface Asked {
  action: Action
  table: string
  index?: string
}

const PARTS: Record<string, Action> = {
  Get: 'GetItem',
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem'
}

export function askedBy(operation: string, input: Input): Asked[] {
  if (Array.isArray(input.TransactItems)) {
    return (input.TransactItems as Record<string, Part>[]).flatMap(item =>
      Object.entries(item).map(([kind, part]) => ({ action: PARTS[kind] as Action, table: part.TableName }))
    )
  }
  const action = operation as Action
  if (input.RequestItems) return Object.keys(input.RequestItems).map(table => ({ action, table }))
  const { TableName: table, IndexName: index } = input as unknown as Part
  return [{ action, table, index }]
}

/** Fails a test for what the policy does not name, and keeps what was asked. */
export function policing(t: Test, { tables, domains }: Config) {
  const ids = new Map(tablesOf(domains).map(([id]) => [tables[id], id]))
  const denied = new Set<string>()
  const asked: Asked[] = []
  t.teardown(() => {
    if (denied.size) throw new Error(`src/infra/access.ts does not allow ${[...denied].join(', ')}`)
  })
  return {
    asked,
    police({ operation, input }: DynamoRequest): void {
      for (const one of askedBy(operation, input)) {
        asked.push(one)
        if (!isAllowed(ids.get(one.table), one)) denied.add(describe(one))
      }
    }
  }
}

export const describe = ({ action, table, index }: Asked) => `${action} on ${table}${index ? `/index/${index}` : ''}`

function isAllowed(id: TableId | undefined, { action, index }: Asked): boolean {
  if (!id) return false
  const { actions, indexes } = access[id]
  return index ? action === 'Query' && indexes.includes(index) : actions.includes(action)
}
