import type { Entity } from 'electrodb'
import { reader } from './declared.js'
import { createDirectly, getDirectly, queryDirectly } from './direct.js'
import { type KeyReader, keyReader, namesIn } from './keys.js'
import { formatDirectly, type Inside, sendDirectly } from './shortcuts.js'
import type { Item } from './values.js'

/**
 * ElectroDB for items that are byte for byte a document's: keys as they are written there, no attribute that the
 * document does not know, and items of other programs served like our own.
 */

type Names<T extends string> = T extends `${string}\${${infer N}}${infer Rest}` ? [N, ...Names<Rest>] : []

/** An index key as the document writes it: `key('sk', 'TOKEN#${tokenId}')`. */
export function key<const F extends string, const T extends string>(field: F, template: T) {
  const composite = namesIn(template) as unknown as Names<T>
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

const OPTIONS = { ignoreOwnership: true, originalErr: true }

/**
 * Makes an entity serve items that others wrote, with the ids that stand only in their keys, and hides the expired.
 * It changes the instance, because a subclass is no longer the `Entity` that ElectroDB's types speak of.
 */
// biome-ignore lint/suspicious/noExplicitAny: ElectroDB's own bound for "some entity"
export function exact<E extends Entity<any, any, any, any>>(entity: E, expiry?: Expiry): E {
  const inside = entity as unknown as Inside
  const readers = keysOfTable(inside)
  inside.ownsKeys = item => readers.every(({ field, read }) => read(item[field]) !== undefined)
  acceptAllOwners(inside)
  formatDirectly(inside)
  fillFromKeys(inside, readers)
  if (expiry) hideExpired(inside, expiry)
  sendDirectly(inside)
  getDirectly(inside, readers)
  createDirectly(inside, readers)
  queryDirectly(inside)
  return entity
}

function keysOfTable({ model }: Inside): KeyReader[] {
  const table = Object.values(model.indexes).find(index => !index.index)
  return [table?.pk, table?.sk]
    .filter(facet => facet !== undefined)
    .map(({ field, template }) => keyReader(field, template ?? `\${${field}}`))
}

/** The option given once to the entity is lost on index queries, so it goes into every call. */
function acceptAllOwners(inside: Inside): void {
  const normalize = inside._normalizeExecutionOptions
  inside._normalizeExecutionOptions = input =>
    normalize.call(inside, { ...input, provided: [OPTIONS, ...(input.provided ?? [])] })
}

/** Reads an item as the entity declares it, with the ids that it holds in its key alone. */
function fillFromKeys({ model: { schema } }: Inside, readers: readonly KeyReader[]): void {
  const format = schema.formatItemForRetrieval
  schema.formatItemForRetrieval = reader(schema.attributes, (known, item, config) => {
    const data = format.call(schema, known, config)
    for (const { field, names, read } of readers) {
      if (names.every(name => data[name] !== undefined)) continue
      read(item[field])?.forEach((id, i) => {
        const name = names[i] as string
        data[name] ??= schema.attributes[name]?.type === 'number' ? Number(id) : id
      })
    }
    return data
  })
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
