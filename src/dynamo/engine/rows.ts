import { helpers } from './dynalite.js'
import { validation } from './errors.js'
import type { LegacyCondition } from './legacy.js'
import type { Item, Table, Value } from './types.js'

const settings = /^(?:table|ttl)~(.+)$/
const indexed = /^index-(local|global)~[^~]+~([^~]+)~/

/** Where everything is: every row's key, or the prefix of many, which ends in `~`. */
export const keys = {
  tables: 'table~',
  table: (name: string) => `table~${name}`,
  ttls: 'ttl~',
  ttl: (name: string) => `ttl~${name}`,
  /** The table whose settings a row holds. */
  settingOf: (key: string) => settings.exec(key)?.[1],
  items: (table: string) => `item-${table}~`,
  index: (type: string, table: string, index: string) => `index-${type.toLowerCase()}~${table}~${index}~`,
  indexes: (type: string, table: string) => `index-${type.toLowerCase()}~${table}~`,
  /** The type and name of the index that a row is in, if it is in one. */
  indexOf: (key: string) => {
    const [, type, name] = indexed.exec(key) ?? []
    return name === undefined ? undefined : `${type}~${name}`
  },
  tags: (table: string) => `tag-${table}~`,
  expiries: (table: string) => `expiry~${table}~`,
  expiry: (table: string, seconds: number, item: string) => `expiry~${table}~${padded(seconds)}/${item}`,
  outbox: (table: string) => `outbox~${table}~`,
  outboxRecord: (table: string, at: number, id: string) => `outbox~${table}~${padded(at)}/${id}`,
  tokens: 'token~',
  token: (at: number, token: string) => `token~${padded(at)}/${token}`
}

/** Numbers that sort as text. */
const padded = (number: number) => String(number).padStart(16, '0')

/** The key of an index row. dynalite ends it in 24 bits of a hash, so that some rows overwrite others; ours ends in the table's whole key. */
export const indexRow = (item: Item, table: Table, schema: Table['KeySchema']) =>
  helpers.createKey(item, table, schema) + helpers.createKey(item, table)

/** All rows that follow from an item: its place in each index, and among what expires. */
export function derivedRows(table: Table, ttl: string | undefined, item: Item): Map<string, unknown> {
  const rows = new Map<string, unknown>()
  for (const type of ['Local', 'Global'] as const) {
    for (const index of table[`${type}SecondaryIndexes`] ?? []) {
      if (!index.KeySchema.every(key => item[key.AttributeName])) continue
      const row = keys.index(type, table.TableName, index.IndexName) + indexRow(item, table, index.KeySchema)
      rows.set(row, project(table, index, item))
    }
  }
  const expires = ttl === undefined ? undefined : expiryOf(item[ttl])
  if (expires !== undefined) rows.set(keys.expiry(table.TableName, expires, helpers.createKey(item, table)), '')
  return rows
}

/** The second after which an item may go, if the attribute holds one. */
export function expiryOf(value: Value | undefined): number | undefined {
  const seconds = Math.floor(Number(value?.N ?? Number.NaN))
  return seconds >= 0 && Number.isSafeInteger(seconds) ? seconds : undefined
}

type Index = NonNullable<Table['GlobalSecondaryIndexes']>[number]

function project(table: Table, index: Index, item: Item): Item {
  if (index.Projection.ProjectionType === 'ALL') return item
  const names = [...index.KeySchema, ...table.KeySchema].map(key => key.AttributeName)
  const wanted = new Set([...names, ...(index.Projection.NonKeyAttributes ?? [])])
  return Object.fromEntries(Object.entries(item).filter(([name]) => wanted.has(name)))
}

/** Refuses keys that DynamoDB would: dynalite counts characters, and lets index keys be empty. */
export function checkKeys(table: Table, item: Item): void {
  for (const [i, { AttributeName: name }] of table.KeySchema.entries()) checkKeySize(item[name], i === 0)
  for (const index of [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])]) {
    for (const [i, { AttributeName: name }] of index.KeySchema.entries()) {
      const value = item[name]
      if (isEmpty(value)) throw emptyKey(value, name, index.IndexName)
      checkKeySize(value, i === 0)
    }
  }
}

/** Refuses a query for keys that nothing can have. */
export function checkKeyConditions(
  table: Table,
  indexName: string | undefined,
  conditions: Record<string, LegacyCondition>
): void {
  const indexes = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])]
  const asked = indexName === undefined ? table : indexes.find(index => index.IndexName === indexName)
  for (const [i, { AttributeName: name }] of asked?.KeySchema.entries() ?? []) {
    for (const value of conditions[name]?.AttributeValueList ?? []) {
      if (isEmpty(value)) throw emptyKey(value, name, indexName)
      if (i > 0) checkKeySize(value, false)
    }
  }
}

const isEmpty = (value: Value | undefined): value is Value => value?.S === '' || value?.B === ''

function checkKeySize(value: Value | undefined, isHash: boolean): void {
  const size = Buffer.byteLength(value?.S ?? value?.B ?? '', value?.B === undefined ? 'utf8' : 'base64')
  if (isHash && size > 2048) throw keyTooLong('Size of hashkey has exceeded the maximum size limit of2048 bytes')
  if (!isHash && size > 1024) {
    throw keyTooLong('Aggregated size of all range keys has exceeded the size limit of 1024 bytes')
  }
}

const keyTooLong = (message: string) => validation(`One or more parameter values were invalid: ${message}`)

const emptyKey = (value: Value, name: string, index?: string) =>
  validation(
    'One or more parameter values are not valid. ' +
      (index === undefined ? '' : 'A value specified for a secondary index key is not supported. ') +
      `The AttributeValue for a key attribute cannot contain an empty ${value.S === '' ? 'string' : 'binary'} value. ` +
      (index === undefined ? `Key: ${name}` : `IndexName: ${index}, IndexKey: ${name}`)
  )
