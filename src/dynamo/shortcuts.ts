import type { Dynamo } from './client.js'
import type { Operation } from './operations.js'
import type { Item } from './values.js'

/** What ElectroDB does for each call and item that its declaration has already decided: done once, or not at all. */

/** What we touch of an entity's inside. ElectroDB is pinned to the version in which these are so. */
export interface Inside {
  client: { client: Dynamo }
  model: {
    original: { attributes: Record<string, object> }
    indexes: Record<string, Index>
    schema: {
      attributes: Record<string, Attribute>
      translationForRetrieval: Record<string, string>
      formatItemForRetrieval(item: Item, config: Options): Item
    }
  }
  query: Record<string, (ids: Item) => Chain>
  getTableName(): string
  get(key: Item | Item[]): Chain
  create(data: Item): Chain
  ownsKeys(item: Item): boolean
  formatResponse(response: { Item?: Item; Items?: Item[] }, index: string, config: Options): object
  executeOperation(method: string, params: Item, config: Options): Promise<unknown>
  _formatExclusiveStartKey(from: { indexName?: string; config: Options & { cursor: string } }): Item | null
  _normalizeExecutionOptions(input: { provided?: unknown[] }): Options
  _exec(method: string, params: Item, config?: Options): Promise<Item>
}

interface Index {
  index?: string
  pk: KeyFacet
  sk?: KeyFacet
}

interface KeyFacet {
  field: string
  /** None where the key is a plain attribute. */
  template?: string
}

export interface Attribute {
  type: string
  field: string
  required?: boolean
}

interface Options {
  data?: string
  attributes?: string[]
  abortSignal?: AbortSignal
}

/** What a call gives before it is sent: a way to send it, and clauses that change it. */
export interface Chain {
  go(options?: object): Promise<unknown>
  params(options?: object): unknown
}

const OPERATIONS: Record<string, Operation> = {
  get: 'GetItem',
  query: 'Query',
  scan: 'Scan',
  put: 'PutItem',
  create: 'PutItem',
  update: 'UpdateItem',
  patch: 'UpdateItem',
  upsert: 'UpdateItem',
  delete: 'DeleteItem',
  remove: 'DeleteItem',
  batchGet: 'BatchGetItem',
  batchWrite: 'BatchWriteItem'
}

/** Hands requests to our client as they are, not wrapped in the document client's commands. */
export function sendDirectly(inside: Inside): void {
  const dynamo = inside.client.client
  const exec = inside._exec
  inside._exec = (method, params, config) => {
    const operation = OPERATIONS[method]
    return operation ? dynamo.request(operation, params, config) : exec.call(inside, method, params, config)
  }
}

/** Renames attributes in one pass where the declaration asks for nothing more. */
export function formatDirectly({ model }: Inside): void {
  const { schema, original } = model
  const isPlain = Object.keys(schema.attributes).every(
    name =>
      !['set', 'list', 'map'].includes(schema.attributes[name]?.type ?? '') &&
      !['get', 'watch', 'hidden'].some(member => member in (original.attributes[name] ?? {}))
  )
  if (!isPlain) return
  const names = new Map(Object.entries(schema.translationForRetrieval))
  const format = schema.formatItemForRetrieval
  schema.formatItemForRetrieval = (item, config) => {
    if (config.data !== 'attributes' || config.attributes?.length) return format.call(schema, item, config)
    const data: Item = {}
    for (const field in item) {
      const name = names.get(field)
      if (name !== undefined) data[name] = item[field]
    }
    return data
  }
}
