import { type KeyReader, keyReader, namesIn } from './keys.js'
import type { Attribute, Chain, Inside } from './shortcuts.js'
import type { Item } from './values.js'

/**
 * Calls whose request follows from the declaration at once: a get by key, a create of plain data, a query of all that
 * is in a partition under one beginning. They need none of ElectroDB's chains of clauses, which are most of its cost.
 * Whatever else is asked of a call goes the long way.
 */

/** A chain that is made only when more is asked of it than to go, or to show its request. */
function unlessMore(chain: () => Chain, go: (options: object) => Promise<unknown>, request?: () => unknown): Chain {
  const short: Record<string | symbol, unknown> = { go: (options: object = {}) => go(options) }
  if (request) short.params = (options?: object) => (options ? undefined : request()) ?? chain().params(options)
  return new Proxy(short as unknown as Chain, { get: (_, name) => short[name] ?? Reflect.get(chain(), name) })
}

const hasOnly = (names: readonly string[], options: object) => Object.keys(options).every(name => names.includes(name))

/** The named keys of some ids, if there are all of them. */
function keysOf(readers: readonly KeyReader[], ids: Item): Item | undefined {
  const keys: Item = {}
  for (const { field, write } of readers) {
    const text = write(ids)
    if (text === undefined) return undefined
    keys[field] = text
  }
  return keys
}

export function getDirectly(inside: Inside, readers: readonly KeyReader[]): void {
  const { get, client } = inside
  const TableName = inside.getTableName()
  const config = inside._normalizeExecutionOptions({})
  inside.get = ids => {
    const chain = () => get.call(inside, ids)
    if (Array.isArray(ids)) return chain()
    const request = () => {
      const Key = keysOf(readers, ids)
      return Key && { Key, TableName }
    }
    const go = async (options: { consistent?: boolean }) => {
      const asked = hasOnly(['consistent'], options) ? request() : undefined
      if (!asked) return chain().go(options)
      const sent = options.consistent ? { ...asked, ConsistentRead: true } : asked
      return inside.formatResponse(await client.client.request('GetItem', sent), '', config)
    }
    return unlessMore(chain, go, request)
  }
}

const CHECKS: Record<string, (value: unknown) => boolean> = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  boolean: value => typeof value === 'boolean',
  any: () => true
}

/** For entities without other indexes, whose attributes are stored as they are given. */
export function createDirectly(inside: Inside, readers: readonly KeyReader[]): void {
  const { create, model } = inside
  const plain = ['type', 'field', 'required']
  const isPlain = Object.values(model.original.attributes).every(attribute => hasOnly(plain, attribute))
  if (!isPlain || Object.keys(model.indexes).length > 1) return
  const TableName = inside.getTableName()
  const config = inside._normalizeExecutionOptions({})
  const fields = readers.map(({ field }) => field)
  const condition = {
    ConditionExpression: fields.map(field => `attribute_not_exists(#${field})`).join(' AND '),
    ExpressionAttributeNames: Object.fromEntries(fields.map(field => [`#${field}`, field]))
  }
  const itemOf = itemMaker(model.schema.attributes, readers)
  inside.create = data => {
    const chain = () => create.call(inside, data)
    return unlessMore(chain, async (options: { returnOnConditionCheckFailure?: string }) => {
      const { returnOnConditionCheckFailure } = options
      const isShort = returnOnConditionCheckFailure === 'all_old' && hasOnly(['returnOnConditionCheckFailure'], options)
      const Item = isShort ? itemOf(data) : undefined
      if (!Item) return chain().go(options)
      const request = { Item, TableName, ...condition, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
      return inside.executeOperation('create', request, { ...config, ...options })
    })
  }
}

/** Makes the stored item of data that are as declared; of others nothing, for ElectroDB to say what is wrong. */
function itemMaker(attributes: Record<string, Attribute>, readers: readonly KeyReader[]) {
  const required = Object.keys(attributes).filter(name => attributes[name]?.required)
  return (data: Item): Item | undefined => {
    const item: Item = {}
    for (const name in data) {
      const attribute = attributes[name]
      const value = data[name]
      if (value === undefined) continue
      if (!attribute || !CHECKS[attribute.type]?.(value)) return undefined
      item[attribute.field] = value
    }
    if (!required.every(name => data[name] !== undefined)) return undefined
    const keys = keysOf(readers, data)
    return keys && Object.assign(item, keys)
  }
}

/** For queries of a partition whose sort keys begin with a text, by the ids of the partition alone. */
export function queryDirectly(inside: Inside): void {
  const { client } = inside
  const config = inside._normalizeExecutionOptions({})
  const TableName = inside.getTableName()
  for (const [name, { index: IndexName, pk, sk }] of Object.entries(inside.model.indexes)) {
    const query = inside.query[name]
    if (!query || !pk.template || !sk?.template) continue
    const { names, write } = keyReader(pk.field, pk.template)
    const [beginning] = sk.template.split('${')
    const isOpen = namesIn(sk.template).length > 0 && !namesIn(sk.template).some(id => names.includes(id))
    if (!beginning || !isOpen) continue
    const fixed = {
      KeyConditionExpression: '#pk = :pk and begins_with(#sk1, :sk1)',
      TableName,
      ExpressionAttributeNames: { '#pk': pk.field, '#sk1': sk.field },
      ...(IndexName ? { IndexName } : {})
    }
    inside.query[name] = ids => {
      const chain = () => query(ids)
      return unlessMore(chain, async (options: { limit?: number; cursor?: string | null }) => {
        const partition = hasOnly(names, ids) && hasOnly(['limit', 'cursor'], options) ? write(ids) : undefined
        if (partition === undefined || options.limit === undefined) return chain().go(options)
        const ExclusiveStartKey = options.cursor
          ? inside._formatExclusiveStartKey({ indexName: IndexName, config: { ...config, cursor: options.cursor } })
          : undefined
        const ExpressionAttributeValues = { ':pk': partition, ':sk1': beginning }
        const request = { ExclusiveStartKey, ...fixed, ExpressionAttributeValues, Limit: options.limit }
        const answer = inside.formatResponse(await client.client.request('Query', request), IndexName ?? '', config)
        return { cursor: null, ...answer }
      })
    }
  }
}
