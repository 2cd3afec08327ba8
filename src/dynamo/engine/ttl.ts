import type { Database } from './database.js'
import { validation } from './errors.js'
import { type Change, chunks, within } from './level.js'
import type { Outbox } from './outbox.js'
import { Overlay } from './overlay.js'
import { checkFields, typesOf } from './request.js'
import { derivedRows, expiryOf, keys } from './rows.js'
import { ReadStore } from './store.js'
import type { Data, Item, Table } from './types.js'

// What expired longer ago was most likely not meant as a time: DynamoDB leaves it.
const FIVE_YEARS = 5 * 365 * 24 * 60 * 60
const CHUNK = 100

const { TableName } = typesOf('DescribeTable')

const specification = {
  TimeToLiveSpecification: {
    type: 'FieldStruct<TimeToLiveSpecification>',
    notNull: true,
    children: {
      AttributeName: {
        type: 'String',
        notNull: true,
        lengthGreaterThanOrEqual: 1,
        lengthLessThanOrEqual: 255
      },
      Enabled: { type: 'Boolean', notNull: true }
    }
  }
}

interface Specification {
  AttributeName: string
  Enabled: boolean
}

/** DescribeTimeToLive. */
export const describeTtl = (db: Database) => async (data: Data) => {
  const { TableName: name } = checkFields(data, { TableName }) as { TableName: string }
  const { ttl } = new ReadStore(db).described(name)
  const enabled = { TimeToLiveStatus: 'ENABLED', AttributeName: ttl }
  return { TimeToLiveDescription: ttl === undefined ? { TimeToLiveStatus: 'DISABLED' } : enabled }
}

/** UpdateTimeToLive: takes effect at once. */
export const updateTtl = (db: Database) => async (data: Data) => {
  const request = checkFields(data, { TableName, ...specification }) as { TableName: string }
  const wanted = (request as Data).TimeToLiveSpecification as Specification
  return db.write(async () => {
    const { table, ttl } = new ReadStore(db).described(request.TableName)
    if (wanted.Enabled === (ttl !== undefined) && (ttl ?? wanted.AttributeName) === wanted.AttributeName) {
      throw validation(`TimeToLive is already ${wanted.Enabled ? 'enabled' : 'disabled'}`)
    }
    if (ttl !== undefined && ttl !== wanted.AttributeName) {
      throw validation(`TimeToLive is active on a different AttributeName: current AttributeName is ${ttl}`)
    }
    await (wanted.Enabled ? enable(db, table, wanted.AttributeName) : disable(db, table.TableName))
    return { TimeToLiveSpecification: wanted }
  })
}

/** Lists what expires, so that a sweep need not read the table; the setting comes last, in case this is cut short. */
async function enable(db: Database, table: Table, ttl: string): Promise<void> {
  const prefix = keys.expiries(table.TableName)
  await db.clear(prefix)
  for await (const items of chunks(db.values(within(keys.items(table.TableName))), CHUNK)) {
    const changes: Change[] = []
    for (const item of items as Item[]) {
      for (const [key, value] of derivedRows(table, ttl, item)) {
        if (key.startsWith(prefix)) changes.push({ type: 'put', key, value })
      }
    }
    await db.commit(changes)
  }
  await db.commit([{ type: 'put', key: keys.ttl(table.TableName), value: ttl }])
}

async function disable(db: Database, name: string): Promise<void> {
  await db.commit([{ type: 'del', key: keys.ttl(name) }])
  await db.clear(keys.expiries(name))
}

/** Deletes what has expired, a hundred items at a time; gives how many. */
export async function sweep(db: Database, outbox: Outbox, now: () => number): Promise<number> {
  let count = 0
  for await (const rows of chunks(db.keys(within(keys.ttls)), CHUNK)) {
    for (const row of rows) count += await sweepTable(db, outbox, row.slice(keys.ttls.length), now)
  }
  return count
}

async function sweepTable(db: Database, outbox: Outbox, name: string, now: () => number): Promise<number> {
  const at = Math.floor(now() / 1000)
  const range = { gte: keys.expiry(name, Math.max(at - FIVE_YEARS, 0), ''), lt: keys.expiry(name, at, '') }
  let count = 0
  for await (const rows of chunks(db.keys(range), CHUNK)) {
    count += await db.write(() => expire(db, outbox, name, rows, at))
  }
  return count
}

/** Deletes listed items, unless they were renewed in between; their records are stored with the deletion. */
async function expire(db: Database, outbox: Outbox, name: string, rows: string[], at: number): Promise<number> {
  const info = db.table(name)
  if (info?.ttl === undefined) return 0
  const overlay = new Overlay(db)
  let count = 0
  for (const row of rows) {
    const key = row.slice(keys.expiry(name, 0, '').length)
    const item = overlay.read(keys.items(name) + key) as Item | undefined
    const expires = item && expiryOf(item[info.ttl])
    if (!item || expires === undefined || expires >= at) continue
    overlay.replace(name, key, undefined)
    outbox.add(overlay, info.table, item)
    count++
  }
  await overlay.commit()
  return count
}
