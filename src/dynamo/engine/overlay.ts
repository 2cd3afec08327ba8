import type { Move } from './capacity.js'
import type { Database } from './database.js'
import type { SubStore } from './dynalite.js'
import { validation } from './errors.js'
import type { Change } from './level.js'
import { checkKeys, derivedRows, keys } from './rows.js'
import { itemBytes, MAX_ITEM_BYTES, nestsTooDeep } from './sizes.js'
import { callBack, ReadStore } from './store.js'
import type { Item } from './types.js'

type Callback = Parameters<SubStore['get']>[1]

/** Collects what a write changes, and lets it read its own changes; nothing is stored until they are committed as one. */
export class Overlay extends ReadStore {
  readonly #pending = new Map<string, unknown>()
  /** What the items written so far have moved in indexes. */
  readonly moves: Move[] = []

  constructor(db: Database) {
    super(db)
  }

  get changes(): Change[] {
    return Array.from(this.#pending, ([key, value]) =>
      value === undefined ? { type: 'del', key } : { type: 'put', key, value }
    )
  }

  commit(): Promise<void> {
    return this.db.commit(this.changes)
  }

  override read(key: string): unknown {
    return this.#pending.has(key) ? this.#pending.get(key) : super.read(key)
  }

  /** Puts a row, or deletes it if there is no value. */
  override change(key: string, value: unknown): void {
    this.#pending.set(key, value)
  }

  override getItemDb(table: string): SubStore {
    const sub = super.getItemDb(table)
    const replace = (key: string, item: Item | undefined) => this.replace(table, key, item)
    return {
      ...sub,
      put: (key, item, callback) => callBack(callback, () => replace(key, item as Item)),
      del: (key, callback) => callBack(callback, () => replace(key, undefined))
    }
  }

  /** dynalite's index rows are left out: what follows from an item is written with the item. */
  override getIndexDb(type: string, table: string, index: string): SubStore {
    const done = (callback: Callback) => callback()
    return {
      ...super.getIndexDb(type, table, index),
      put: (_key, _value, callback) => done(callback),
      del: (_key, callback) => done(callback)
    }
  }

  /** What goes with a table is deleted range by range, see dropTable. */
  override deleteItemDb(_table: string, callback: Callback): void {
    callback()
  }

  override deleteIndexDb(_type: string, _table: string, _index: string, callback: Callback): void {
    callback()
  }

  override deleteTagDb(_table: string, callback: Callback): void {
    callback()
  }

  /** Puts an item in place of another, or of none, with all rows that follow from it. */
  replace(tableName: string, key: string, item: Item | undefined): void {
    const { table, ttl } = this.table(tableName)
    const row = keys.items(tableName) + key
    const old = this.read(row) as Item | undefined
    if (item) {
      checkKeys(table, item)
      checkSize(item)
    }
    const [before, after] = [old, item].map(one =>
      one ? derivedRows(table, ttl, one) : new Map<string, unknown>()
    ) as [Move['before'], Move['after']]
    this.moves.push({ table: tableName, before, after })
    for (const gone of before.keys()) this.change(gone, undefined)
    for (const [derived, value] of after) this.change(derived, value)
    if (item || old) this.change(row, item)
  }
}

function checkSize(item: Item): void {
  // Items that come whole are measured when the request is checked: here it is an update that made them grow.
  if (itemBytes(item) > MAX_ITEM_BYTES) {
    throw validation('Item size to update has exceeded the maximum allowed size')
  }
  if (nestsTooDeep(item)) throw tooDeep()
}

export const tooDeep = (more = '') => validation(`Nesting Levels have exceeded supported limits${more}`)
