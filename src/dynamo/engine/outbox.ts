import { randomUUID } from 'node:crypto'
import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Database } from './database.js'
import { chunks } from './level.js'
import type { Overlay } from './overlay.js'
import { keys } from './rows.js'
import type { Item, Table, Value } from './types.js'

/** An item that TTL removed, in the shape of a DynamoDB stream record. */
export interface Expired {
  eventID: string
  eventName: 'REMOVE'
  tableName: string
  userIdentity: { type: 'Service'; principalId: 'dynamodb.amazonaws.com' }
  dynamodb: {
    Keys: Record<string, AttributeValue>
    OldImage: Record<string, AttributeValue>
    /** Seconds since the epoch. */
    ApproximateCreationDateTime: number
    StreamViewType: 'NEW_AND_OLD_IMAGES'
  }
}

export type ExpiredListener = (records: Expired[]) => Promise<void>

interface Stored {
  eventID: string
  at: number
  keys: Item
  item: Item
}

const DAY_MS = 24 * 60 * 60 * 1000
const CHUNK = 100

/**
 * The removals that somebody is still to hear of. A table's removals are kept if its stream is enabled, with the delete
 * itself, until every listener has taken them; as in DynamoDB's streams, for a day at most.
 */
export class Outbox {
  readonly #db: Database
  readonly #now: () => number
  readonly #listeners = new Map<string, Set<ExpiredListener>>()
  readonly #underway = new Map<string, Promise<void>>()

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#now = now
  }

  /** Adds a record to the changes that delete its item. */
  add(overlay: Overlay, table: Table, item: Item): void {
    if (!table.StreamSpecification?.StreamEnabled) return
    const at = this.#now()
    const key = Object.fromEntries(table.KeySchema.map(({ AttributeName: name }) => [name, item[name]]))
    const stored = { eventID: randomUUID().replaceAll('-', ''), at, keys: key, item }
    overlay.change(keys.outboxRecord(table.TableName, at, stored.eventID), stored)
  }

  /** Listens to a table's removals; what waits is delivered at once. Gives a function that ends it. */
  listen(table: string, listener: ExpiredListener): () => void {
    const listeners = this.#listeners.get(table) ?? new Set()
    this.#listeners.set(table, listeners.add(listener))
    void this.deliver(table)
    return () => listeners.delete(listener)
  }

  /** Delivers what waits for every table that has listeners, and forgets what is a day old. */
  async deliverAll(): Promise<void> {
    await Promise.all(Array.from(this.#listeners.keys(), table => this.deliver(table)))
  }

  /** Delivers what waits for a table. A listener that fails gets the same records again with the next sweep. */
  deliver(table: string): Promise<void> {
    const before = this.#underway.get(table) ?? Promise.resolve()
    const run = before.then(() => this.#deliver(table)).catch(() => {})
    this.#underway.set(table, run)
    return run
  }

  async #deliver(table: string): Promise<void> {
    const range = { gte: keys.outbox(table), lt: keys.outboxRecord(table, Number.MAX_SAFE_INTEGER, '') }
    for await (const rows of chunks(this.#db.entries(range), CHUNK)) {
      const listeners = this.#listeners.get(table)
      if (!listeners?.size) return
      const records = (rows as [string, Stored][]).map(([, stored]) => toRecord(table, stored))
      await Promise.all(Array.from(listeners, listener => listener(records)))
      await this.#db.commit(rows.map(([key]) => ({ type: 'del', key })))
    }
  }

  /** Forgets records that nobody has taken for a day. */
  async forgetOld(tables: string[]): Promise<void> {
    const before = this.#now() - DAY_MS
    for (const table of tables) {
      const range = { gte: keys.outbox(table), lt: keys.outboxRecord(table, Math.max(before, 0), '') }
      for await (const rows of chunks(this.#db.keys(range), CHUNK)) {
        await this.#db.commit(rows.map(key => ({ type: 'del', key })))
      }
    }
  }

  /** Ends all listening, and waits for deliveries under way. */
  async close(): Promise<void> {
    this.#listeners.clear()
    await Promise.all(this.#underway.values())
  }
}

const toRecord = (tableName: string, stored: Stored): Expired => ({
  eventID: stored.eventID,
  eventName: 'REMOVE',
  tableName,
  userIdentity: { type: 'Service', principalId: 'dynamodb.amazonaws.com' },
  dynamodb: {
    Keys: image(stored.keys),
    OldImage: image(stored.item),
    ApproximateCreationDateTime: Math.floor(stored.at / 1000),
    StreamViewType: 'NEW_AND_OLD_IMAGES'
  }
})

/** An item as the AWS client gives it: binary is bytes. */
const image = (item: Item): Record<string, AttributeValue> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, clientValue(value)]))

function clientValue(value: Value): AttributeValue {
  if (value.B !== undefined) return { B: Buffer.from(value.B, 'base64') }
  if (value.BS) return { BS: value.BS.map(member => Buffer.from(member, 'base64')) }
  if (value.L) return { L: value.L.map(clientValue) }
  if (value.M) return { M: image(value.M) }
  return value as AttributeValue
}
