import { createRequire } from 'node:module'
import type { Stream } from 'node:stream'
import type { Expression } from './conditions.js'
import type { Level } from './level.js'
import { keepParsed } from './parsed.js'
import type { Data, Item, Table } from './types.js'

// dynalite has no types and shows only its HTTP server; its inner modules are what we build on. Hence the exact version.
const require = createRequire(import.meta.url)
const inner = createRequire(require.resolve('dynalite/db'))

type Callback = (err?: Error | null, value?: unknown) => void

/** The part of a database that holds one table's items, one index's rows, ... as dynalite's actions use it. */
export interface SubStore {
  lock(key: string, task: (release: (callback: Callback) => Callback) => void): void
  get(key: string, callback: Callback): void
  put(key: string, value: unknown, callback: Callback): void
  del(key: string, callback: Callback): void
  batch(ops: { type: string; key: string; value?: unknown }[], callback: Callback): void
  createKeyStream(options?: object): Stream
  createValueStream(options?: object): Stream
}

/** The database, as dynalite's actions use it. */
export interface Store {
  options: { maxItemSize: number; createTableMs: number; deleteTableMs: number; updateTableMs: number }
  tableDb: SubStore & { awsAccountId: string; awsRegion: string }
  getTable(name: string, checkStatus: boolean | Callback, callback?: Callback): void
  getItemDb(table: string): SubStore
  getIndexDb(type: string, table: string, index: string): SubStore
  getTagDb(table: string): SubStore
  deleteItemDb(table: string, callback: Callback): void
  deleteIndexDb(type: string, table: string, index: string, callback: Callback): void
  deleteTagDb(table: string, callback: Callback): void
}

/** What the validations add to a request: its expressions, parsed. */
export interface Parsed extends Data {
  TableName: string
  _condition?: { expression: Expression }
  _filter?: { expression: Expression }
}

type Action = (store: Store, data: Data, callback: Callback) => void

/** Describes an operation's fields, in dynalite's own notation. */
export type Types = Record<string, unknown>

interface Validation {
  types: Types
  custom?: (data: Data, store: unknown) => string | undefined
}

interface Validations {
  checkTypes(data: Data, types: Types): Data
  checkValidations(data: Data, types: Types, custom: Validation['custom'], store: unknown): void
  toLowerFirst(text: string): string
  validateAttributeValue(value: unknown): string | undefined
}

interface Helpers {
  createKey(item: Item, table: Table, schema?: Table['KeySchema']): string
  validateKey(key: Item, table: Table): Error | undefined
  validateItem(item: Item, table: Table): Error | undefined
  mapPath(path: (string | number)[], item: Item): unknown
}

/** Operations that dynalite knows. */
const operations = [
  'BatchGetItem',
  'BatchWriteItem',
  'CreateTable',
  'DeleteItem',
  'DeleteTable',
  'DescribeTable',
  'GetItem',
  'ListTables',
  'ListTagsOfResource',
  'PutItem',
  'Query',
  'Scan',
  'TagResource',
  'UntagResource',
  'UpdateItem',
  'UpdateTable'
] as const

export type Operation = (typeof operations)[number]

// Its validations call what stands here, so what they parse is kept.
const conditions = require('dynalite/db/conditionParser')
conditions.parse = keepParsed(conditions.parse)

/** dynalite's checks, common to all operations. */
export const validations: Validations = require('dynalite/validations')

/** dynalite's helpers around keys and paths. */
export const helpers: Helpers = require('dynalite/db')

const load = <T>(folder: string) =>
  Object.fromEntries(
    operations.map(name => [name, require(`dynalite/${folder}/${validations.toLowerFirst(name)}`)])
  ) as Record<Operation, T>

const actions = load<Action>('actions')

/** What each operation's request must look like. */
export const rules = load<Validation>('validations')

/** dynalite's version; anything but the one we were written for is an error. */
export const version: string = require('dynalite/package.json').version

/** The LevelDB that dynalite brings along, in a folder or in memory. */
export function newLevel(path?: string): Level {
  const options = { valueEncoding: 'json' }
  if (path === undefined) return new (inner('memory-level').MemoryLevel)(options)
  return new (inner('level').Level)(path, options)
}

/** Runs one of dynalite's actions; what it throws or calls back with becomes the promise's. */
export function act(name: Operation, store: Store, data: Data): Promise<unknown> {
  return new Promise((resolve, reject) => {
    actions[name](store, data, (err, result) => (err ? reject(err) : resolve(result)))
  })
}
