import { Stream } from 'node:stream'
import type { Database, TableInfo } from './database.js'
import { helpers, type Store, type SubStore } from './dynalite.js'
import { ApiError } from './errors.js'
import { type Range, type Rows, type Snapshot, within } from './level.js'
import { indexRow, keys } from './rows.js'
import type { Item, Table } from './types.js'

type Callback = Parameters<SubStore['get']>[1]

// Enough that most queries take one trip to LevelDB, few enough that a stopped one wastes little.
const CHUNK = 64

/** Calls back with what a task gives or throws. dynalite's actions may be called back at once. */
export function callBack(callback: Callback, task: () => unknown): void {
  let result: unknown
  try {
    result = task()
  } catch (err) {
    callback(err as Error)
    return
  }
  callback(null, result)
}

/** Rows, in the kind of stream that dynalite reads. */
class RowStream extends Stream {
  #isStopped = false

  constructor(rows: Rows<unknown>) {
    super()
    this.#run(rows).catch(err => this.emit('error', err))
  }

  destroy(): void {
    this.#isStopped = true
  }

  async #run(rows: Rows<unknown>): Promise<void> {
    try {
      for (;;) {
        const chunk = await rows.nextv(CHUNK)
        for (const row of chunk) {
          if (this.#isStopped) return
          this.emit('data', row)
        }
        if (chunk.length === 0) break
      }
    } finally {
      await rows.close()
    }
    this.emit('end')
  }
}

/** One request's view of the database, in the shape that dynalite's actions know. This one reads; the overlay writes. */
export class ReadStore implements Store {
  // dynalite stops a batch of reads at this and 1 MB more; DynamoDB at 16 MB. What is written, we measure ourselves.
  readonly options = { maxItemSize: 15 * 1024 * 1024 + 3, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 }
  readonly tableDb = Object.assign(this.sub(keys.tables), { awsAccountId: '000000000000', awsRegion: 'us-east-1' })

  constructor(
    protected readonly db: Database,
    private readonly snapshot?: Snapshot,
    private readonly startKey?: Item
  ) {}

  getTable(name: string, checkStatus: boolean | Callback, callback?: Callback): void {
    if (typeof checkStatus === 'function') callBack(checkStatus, () => this.table(name).table)
    // Whoever does not ask for the status may change what they get.
    else callBack(callback as Callback, () => this.read(keys.table(name)) ?? raise(missing(name)))
  }

  /** A table that can be used. */
  table(name: string): TableInfo {
    const info = this.db.table(name)
    if (!info || ['CREATING', 'DELETING'].includes(info.table.TableStatus)) throw notFound()
    return info
  }

  /** A table that exists, whatever its status. */
  described(name: string): TableInfo {
    return this.db.table(name) ?? raise(missing(name))
  }

  getItemDb(table: string): SubStore {
    return this.sub(keys.items(table))
  }

  getIndexDb(type: string, table: string, index: string): SubStore {
    const sub = this.sub(keys.index(type, table, index))
    const start = this.startKey && this.#startRow(table, index, this.startKey)
    if (start === undefined) return sub
    // dynalite would go on after 24 bits of a hash; our rows need the whole key.
    const range = (given: Range): Range =>
      given.reverse ? { ...given, lt: start, lte: undefined } : { ...given, gt: start, gte: undefined }
    return { ...sub, createValueStream: (given: Range) => sub.createValueStream(range(given)) }
  }

  getTagDb(table: string): SubStore {
    return this.sub(keys.tags(table))
  }

  deleteItemDb(_table: string, callback: Callback): void {
    callback(readOnly())
  }

  deleteIndexDb(_type: string, _table: string, _index: string, callback: Callback): void {
    callback(readOnly())
  }

  deleteTagDb(_table: string, callback: Callback): void {
    callback(readOnly())
  }

  read(key: string): unknown {
    return this.db.get(key, this.snapshot)
  }

  /** The item of a key, or of another item with that key. */
  item(table: string, key: Item): Item | undefined {
    return this.read(this.place(table, key)) as Item | undefined
  }

  /** The row of a key, or of an item with that key. */
  place(table: string, key: Item): string {
    return keys.items(table) + helpers.createKey(key, this.table(table).table)
  }

  /** What is wrong with a key, or with the key of a whole item. */
  invalidKey(table: string, key: Item, isWhole: boolean): Error | undefined {
    const description = this.table(table).table
    return isWhole ? helpers.validateItem(key, description) : helpers.validateKey(key, description)
  }

  protected change(_key: string, _value: unknown): void {
    throw readOnly()
  }

  protected sub(prefix: string): SubStore {
    const change = (key: string, value: unknown) => this.change(prefix + key, value)
    return {
      lock: (_key, task) => task(callback => callback),
      get: (key, callback) => callBack(callback, () => this.read(prefix + key)),
      put: (key, value, callback) => callBack(callback, () => change(key, value)),
      del: (key, callback) => callBack(callback, () => change(key, undefined)),
      batch: (ops, callback) => callBack(callback, () => ops.forEach(({ key, value }) => void change(key, value))),
      createKeyStream: () => new RowStream(cut(this.db.keys(within(prefix), this.snapshot), prefix.length)),
      createValueStream: (range: Range = {}) => new RowStream(this.db.values(inside(prefix, range), this.snapshot))
    }
  }

  #startRow(table: string, index: string, startKey: Item): string | undefined {
    const { table: description } = this.table(table)
    const all = [...(description.GlobalSecondaryIndexes ?? []), ...(description.LocalSecondaryIndexes ?? [])]
    const found = all.find(each => each.IndexName === index)
    return found && indexRow(startKey, description as Table, found.KeySchema)
  }
}

const readOnly = () => new Error('A reading request tried to write')

const notFound = (detail = '') =>
  Object.assign(
    new ApiError('com.amazonaws.dynamodb.v20120810#ResourceNotFoundException', `Requested resource not found${detail}`),
    { name: 'NotFoundError' } // dynalite's actions look at the name
  )

const missing = (name: string) => notFound(`: Table: ${name} not found`)

function raise(err: Error): never {
  throw err
}

/** A range of keys, all with the prefix. */
function inside(prefix: string, { gt, gte, lt, lte, ...rest }: Range): Range {
  const all = within(prefix)
  const lower = gt !== undefined ? { gt: prefix + gt } : { gte: gte === undefined ? all.gte : prefix + gte }
  const upper = lte !== undefined ? { lte: prefix + lte } : { lt: lt === undefined ? all.lt : prefix + lt }
  return { ...rest, ...lower, ...upper }
}

/** Keys without their prefix. */
function cut(rows: Rows<string>, length: number): Rows<string> {
  return {
    nextv: async size => (await rows.nextv(size)).map(key => key.slice(length)),
    close: () => rows.close()
  }
}
