import type { Dynamo } from './client.js'
import type { KeyReader } from './keys.js'
import type { Operation } from './operations.js'
import type { Item } from './values.js'

/** What ElectroDB does for each call and item that its declaration has already decided: done once, or not at all. */

/** What we touch of an entity's inside. ElectroDB is pinned to the version in which these are so. */
export interface Inside {
  client: { client: Dynamo }
  model: {
    original: { attributes: Record<string, object> }
    indexes: Record<string, { index?: string; pk: KeyFacet; sk?: KeyFacet }>
    schema: {
      attributes: Record<string, { type: string; field: string; required?: boolean }>
      translationForRetrieval: Record<string, string>
      formatItemForRetrieval(item: Item, config: Options): Item
    }
  }
  getTableName(): string
  get(key: Item | Item[]): Chain
  ownsKeys(item: Item): boolean
  formatResponse(response: { Item?: Item; Items?: Item[] }, index: string, config: Options): unknown
  _normalizeExecutionOptions(input: { provided?: unknown[] }): Options
  _exec(method: string, params: Item, config?: Options): Promise<Item>
}

interface KeyFacet {
  field: string
  template: string
}

interface Options {
  data?: string
  attributes?: string[]
  abortSignal?: AbortSignal
}

interface Chain {
  go(options?: object): Promise<unknown>
  params(options?: object): unknown
  commit(options?: object): unknown
  where(clause: unknown): unknown
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

const GET = { data: 'attributes', ignoreOwnership: true, originalErr: true }

/** A get by key needs no chain of clauses: its request is its key. Whatever else is asked of it goes the long way. */
export function getDirectly(inside: Inside, readers: readonly KeyReader[]): void {
  const { get, client } = inside
  const TableName = inside.getTableName()
  const keyOf = (ids: Item): Item | undefined => {
    const key: Item = {}
    for (const { field, write } of readers) {
      const text = write(ids)
      if (text === undefined) return undefined
      key[field] = text
    }
    return key
  }
  inside.get = ids => {
    const chain = () => get.call(inside, ids)
    if (Array.isArray(ids)) return chain()
    return {
      async go(options: { consistent?: boolean } = {}) {
        const { consistent, ...others } = options
        const Key = keyOf(ids)
        if (!Key || Object.keys(others).length > 0) return chain().go(options)
        const request = consistent ? { Key, TableName, ConsistentRead: true } : { Key, TableName }
        return inside.formatResponse(await client.client.request('GetItem', request), '', GET)
      },
      params: options => chain().params(options),
      commit: options => chain().commit(options),
      where: clause => chain().where(clause)
    }
  }
}
