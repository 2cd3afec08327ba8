import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { KEY_ONLY } from './exact.js'
import { tableKeyNames } from './tables.js'
import { type Attributes, assertItemSize, assertKeySize, type Item, marshal, unmarshal } from './values.js'

/** Between the plain values of ElectroDB's requests and the attribute values of DynamoDB's. */

type Input = Record<string, unknown>

const VALUES = new Set(['Key', 'Item', 'ExpressionAttributeValues', 'ExclusiveStartKey'])

/** Stored names that ElectroDB writes for itself, or that stand only in keys. */
const EXTRA = new RegExp(`^(__edb_[ev]__$|${KEY_ONLY})`)

/** A request as DynamoDB takes it; refuses what DynamoDB would refuse for its size. */
export function marshalInput(operation: string, input: Input): Input {
  if (input.TransactItems) {
    const items = (input.TransactItems as Record<string, Input>[]).map(item =>
      Object.fromEntries(Object.entries(item).map(([kind, part]) => [kind, marshalPart(part)]))
    )
    return { ...input, TransactItems: items, ReturnConsumedCapacity: 'TOTAL' }
  }
  if (input.RequestItems) {
    const RequestItems = marshalBatch(operation, input.RequestItems as Input)
    return { ...input, RequestItems, ReturnConsumedCapacity: 'TOTAL' }
  }
  const request = marshalPart(input)
  request.ReturnConsumedCapacity = 'TOTAL'
  return request
}

function marshalBatch(operation: string, tables: Input): Input {
  const request = (part: Record<string, Input>) =>
    Object.fromEntries(Object.entries(part).map(([kind, body]) => [kind, marshalPart(body)]))
  const one = (value: unknown) => {
    if (operation === 'BatchWriteItem') return (value as Record<string, Input>[]).map(request)
    const { Keys, ...rest } = value as { Keys: Item[] }
    return { ...rest, Keys: Keys.map(key => marshal(key)) }
  }
  return Object.fromEntries(Object.entries(tables).map(([table, value]) => [table, one(value)]))
}

function marshalPart(part: Input): Input {
  const out: Input = {}
  for (const name in part) {
    const value = part[name]
    if (value !== undefined) out[name] = VALUES.has(name) ? marshal(withoutExtras(value as Item, name)) : value
  }
  const written = (out.Item ?? out.Key) as Attributes | undefined
  if (out.Item) assertItemSize(out.Item as Attributes)
  if (written) assertKeySize(written, tableKeyNames)
  if (typeof out.KeyConditionExpression === 'string') {
    assertKeySize(out.ExpressionAttributeValues as Attributes, out.KeyConditionExpression.match(/:\w+/g) ?? [])
  }
  if (typeof out.UpdateExpression === 'string') dropExtras(out, out.UpdateExpression)
  return out
}

function withoutExtras(item: Item, name: string): Item {
  if (name !== 'Item') return item
  const kept: Item = {}
  for (const field in item) if (!EXTRA.test(field)) kept[field] = item[field]
  return kept
}

/** Takes ElectroDB's own attributes out of an update, and their names and values with them. */
function dropExtras(out: Input, expression: string): void {
  const names = { ...(out.ExpressionAttributeNames as Record<string, string>) }
  const values = { ...(out.ExpressionAttributeValues as Record<string, AttributeValue>) }
  const kept = expression.replace(
    /(?:, )?(#\w+) = (:\w+)(?=,| [A-Z]|$)/g,
    (assignment, name: string, value: string) => {
      if (!EXTRA.test(names[name] ?? '')) return assignment
      delete names[name]
      delete values[value]
      return ''
    }
  )
  out.UpdateExpression = kept.replace(/^SET , /, 'SET ').replace(/^SET ?(?=REMOVE|ADD|DELETE|$)/, '')
  out.ExpressionAttributeNames = Object.keys(names).length ? names : undefined
  out.ExpressionAttributeValues = Object.keys(values).length ? values : undefined
}

/** An answer with plain values in place of attribute values; the answer itself is changed, since nobody else has it. */
export function unmarshalOutput(out: Input): Input {
  if (out.Item) out.Item = unmarshal(out.Item as Attributes)
  if (out.Attributes) out.Attributes = unmarshal(out.Attributes as Attributes)
  if (out.Items) out.Items = (out.Items as Attributes[]).map(unmarshal)
  if (out.LastEvaluatedKey) out.LastEvaluatedKey = unmarshal(out.LastEvaluatedKey as Attributes)
  if (out.Responses) out.Responses = unmarshalResponses(out.Responses)
  if (out.UnprocessedKeys) out.UnprocessedKeys = unmarshalUnprocessed(out.UnprocessedKeys as Input)
  if (out.UnprocessedItems) out.UnprocessedItems = unmarshalUnprocessed(out.UnprocessedItems as Input)
  return out
}

function unmarshalResponses(responses: unknown): unknown {
  if (Array.isArray(responses)) {
    return responses.map((r: { Item?: Attributes }) => (r.Item ? { Item: unmarshal(r.Item) } : {}))
  }
  const tables = Object.entries(responses as Record<string, Attributes[]>)
  return Object.fromEntries(tables.map(([table, items]) => [table, items.map(unmarshal)]))
}

function unmarshalUnprocessed(tables: Input): Input {
  const request = (part: Record<string, { Key?: Attributes; Item?: Attributes }>) =>
    Object.fromEntries(
      Object.entries(part).map(([kind, { Key, Item }]) => [
        kind,
        Key ? { Key: unmarshal(Key) } : { Item: unmarshal(Item ?? {}) }
      ])
    )
  const one = (value: unknown) => {
    if (Array.isArray(value)) return value.map(request)
    const { Keys, ...rest } = value as { Keys: Attributes[] }
    return { ...rest, Keys: Keys.map(unmarshal) }
  }
  return Object.fromEntries(Object.entries(tables).map(([table, value]) => [table, one(value)]))
}
