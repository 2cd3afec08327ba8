import type { Entity } from 'electrodb'
import type { Item } from './values.js'

/**
 * ElectroDB for items that are byte for byte a document's: keys as they are written there, no attribute that the
 * document does not know, and items of other programs served like our own.
 */

type Names<T extends string> = T extends `${string}\${${infer N}}${infer Rest}` ? [N, ...Names<Rest>] : []

/** An index key as the document writes it: `key('sk', 'TOKEN#${tokenId}')`. */
export function key<const F extends string, const T extends string>(field: F, template: T) {
  const composite = [...template.matchAll(/\$\{(\w+)\}/g)].map(match => match[1]) as unknown as Names<T>
  return { field, template, composite, casing: 'none' as const }
}

/** An index key that is a plain attribute; without the casing ElectroDB would lower-case what is stored. */
export function attributeKey<const A extends string>(name: A) {
  return { field: name, composite: [name] as const, casing: 'none' as const }
}

/** The start of a stored name that never reaches the table: what stands only in a key. */
export const KEY_ONLY = '_key_'

/** An attribute that the document keeps in the key alone, such as a Cello project's name. */
export function keyOnly<const A extends string>(name: A) {
  return { type: 'string', required: true, field: `${KEY_ONLY}${name}` } as const
}

/** The attribute that says when an item is gone, in epoch seconds, and the clock to judge it by. */
export interface Expiry {
  field: string
  now: () => number
}

/** What we touch of an entity's inside. ElectroDB is pinned to the version in which these are so. */
interface Inside {
  model: {
    indexes: Record<string, { index?: string; pk: KeyFacet; sk?: KeyFacet }>
    schema: {
      attributes: Record<string, { type: string }>
      formatItemForRetrieval(item: Item, config: unknown): Item
    }
  }
  _normalizeExecutionOptions(input: { provided?: unknown[] }): unknown
  formatResponse(response: { Item?: Item; Items?: Item[] }, index: string, config: unknown): unknown
}

interface KeyFacet {
  field: string
  template: string
}

const OPTIONS = { ignoreOwnership: true, originalErr: true }

/**
 * Makes an entity serve items that others wrote, with the ids that stand only in their keys, and hides the expired.
 * It changes the instance, because a subclass is no longer the `Entity` that ElectroDB's types speak of.
 */
// biome-ignore lint/suspicious/noExplicitAny: ElectroDB's own bound for "some entity"
export function exact<E extends Entity<any, any, any, any>>(entity: E, expiry?: Expiry): E {
  const inside = entity as unknown as Inside
  acceptAllOwners(inside)
  fillFromKeys(inside)
  if (expiry) hideExpired(inside, expiry)
  return entity
}

/** The option given once to the entity is lost on index queries, so it goes into every call. */
function acceptAllOwners(inside: Inside): void {
  const normalize = inside._normalizeExecutionOptions
  inside._normalizeExecutionOptions = input =>
    normalize.call(inside, { ...input, provided: [OPTIONS, ...(input.provided ?? [])] })
}

function fillFromKeys(inside: Inside): void {
  const { schema } = inside.model
  const readers = keyReaders(inside)
  const format = schema.formatItemForRetrieval
  schema.formatItemForRetrieval = (item, config) => {
    const data = format.call(schema, item, config)
    for (const read of readers) read(item, data)
    return data
  }
}

/** For each key of the table that holds ids: a function that puts the missing ones into the data. */
function keyReaders(inside: Inside) {
  const table = Object.values(inside.model.indexes).find(index => !index.index)
  const { attributes } = inside.model.schema
  const facets = [table?.pk, table?.sk].filter(facet => facet?.template.includes('${')) as KeyFacet[]
  return facets.map(({ field, template }) => {
    const names = [...template.matchAll(/\$\{(\w+)\}/g)].map(match => match[1] as string)
    const pattern = keyPattern(template, names.length)
    return (item: Item, data: Item) => {
      if (names.every(name => data[name] !== undefined)) return
      const parts = pattern.exec(String(item[field]))
      names.forEach((name, i) => {
        const part = parts?.[i + 1]
        if (part !== undefined) data[name] ??= attributes[name]?.type === 'number' ? Number(part) : part
      })
    }
  })
}

/**
 * Identifiers hold no `#`, except for the last part of a key, which may be a tail such as `UPDATE#0.1.18`. What parts
 * two of them is not in the first: `us-east-1.zope.interface` is a region and a package.
 */
function keyPattern(template: string, count: number): RegExp {
  let seen = 0
  const source = template.replace(/\$\{\w+\}|[^$]+/g, part => {
    if (!part.startsWith('${')) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    seen += 1
    return seen === count ? '(.*)' : '([^#]*?)'
  })
  return new RegExp(`^${source}$`, 's')
}

function hideExpired(inside: Inside, expiry: Expiry): void {
  const format = inside.formatResponse
  const isGone = (item: Item) => {
    const at = item[expiry.field]
    return typeof at === 'number' && at * 1000 <= expiry.now()
  }
  inside.formatResponse = (response, index, config) => {
    if (response.Items)
      return format.call(inside, { ...response, Items: response.Items.filter(i => !isGone(i)) }, index, config)
    if (response.Item && isGone(response.Item))
      return format.call(inside, { ...response, Item: undefined }, index, config)
    return format.call(inside, response, index, config)
  }
}
