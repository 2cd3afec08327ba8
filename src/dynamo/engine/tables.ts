import type { Database } from './database.js'
import { act, type Operation } from './dynalite.js'
import { validation } from './errors.js'
import { chunks, within } from './level.js'
import { Overlay } from './overlay.js'
import { check } from './request.js'
import { keys } from './rows.js'
import { ReadStore } from './store.js'
import type { Data, Table } from './types.js'

type Stream = Table['StreamSpecification']

/** dynalite writes a table twice, the second time a moment later, when it is ready: only that is stored. */
class TableOverlay extends Overlay {
  #writes = 0
  #settle: () => void = () => {}
  readonly settled = new Promise<void>(resolve => {
    this.#settle = resolve
  })

  override change(key: string, value: unknown): void {
    super.change(key, value)
    if (++this.#writes === 2) this.#settle()
  }
}

async function settle(db: Database, name: Operation, request: Data, finish: (overlay: Overlay) => void) {
  const overlay = new TableOverlay(db)
  // The answer tells of the change under way, as DynamoDB's does.
  const answer = structuredClone(await act(name, overlay, request))
  await overlay.settled
  finish(overlay)
  await overlay.commit()
  return answer
}

/** CreateTable: the table can be used as soon as it is answered. */
export const createTable = (db: Database, now: () => number) => async (data: Data) => {
  const { StreamSpecification, ...request } = check('CreateTable', data)
  const stream = StreamSpecification as Stream
  return db.write(() =>
    settle(db, 'CreateTable', request, overlay => {
      if (stream?.StreamEnabled) changeTable(overlay, request.TableName, table => setStream(table, stream, now()))
    })
  )
}

/** UpdateTable: throughput, billing and streams. Indexes are given when the table is created. */
export const updateTable = (db: Database, now: () => number) => async (data: Data) => {
  const stream = data.StreamSpecification
  const request = check('UpdateTable', stream ? { ...data, UpdateStreamEnabled: true } : data)
  const updates = (request.GlobalSecondaryIndexUpdates ?? []) as { Create?: unknown; Delete?: unknown }[]
  if (updates.some(update => update.Create || update.Delete)) {
    throw validation('The embedded engine does not add or delete indexes of a table that exists')
  }
  return db.write(() =>
    settle(db, 'UpdateTable', request, overlay => {
      if (stream) changeTable(overlay, request.TableName, table => setStream(table, stream as Stream, now()))
    })
  )
}

function changeTable(overlay: Overlay, name: string, change: (table: Table) => void): void {
  const table = overlay.read(keys.table(name)) as Table
  change(table)
  overlay.change(keys.table(name), table)
}

/** dynalite forgets the stream that was asked for. The streams themselves are not served. */
function setStream(table: Table, stream: Stream, now: number): void {
  const isOn = Boolean(table.StreamSpecification?.StreamEnabled)
  if (isOn && stream?.StreamEnabled)
    throw validation(`Table already has an enabled stream: TableName: ${table.TableName}`)
  if (!isOn && !stream?.StreamEnabled) {
    throw validation(`Table has no stream to disable: TableName: ${table.TableName}`)
  }
  delete table.StreamSpecification
  if (!stream?.StreamEnabled) return
  table.StreamSpecification = stream
  table.LatestStreamLabel = new Date(now).toISOString().replace('Z', '')
  table.LatestStreamArn = `${table.TableArn}/stream/${table.LatestStreamLabel}`
}

/** DeleteTable: gone when answered. */
export const deleteTable = (db: Database) => async (data: Data) => {
  const request = check('DeleteTable', data)
  return db.write(async () => {
    const answer = structuredClone(await act('DeleteTable', new Overlay(db), request))
    await dropTable(db, db.get(keys.table(request.TableName)) as Table)
    return answer
  })
}

/** Deletes a table and all that belongs to it; if this is cut short, the next opening goes on with it. */
async function dropTable(db: Database, table: Table): Promise<void> {
  const name = table.TableName
  await db.commit([{ type: 'put', key: keys.table(name), value: { ...table, TableStatus: 'DELETING' } }])
  const parts = [keys.items(name), keys.tags(name), keys.expiries(name), keys.outbox(name)]
  parts.push(keys.indexes('local', name), keys.indexes('global', name))
  for (const part of parts) await db.clear(part)
  await db.commit([keys.table(name), keys.ttl(name)].map(key => ({ type: 'del', key })))
}

/** Ends what a killed process left half done with its tables. */
export async function repair(db: Database): Promise<void> {
  for await (const rows of chunks(db.values(within(keys.tables)), 100)) {
    for (const table of rows as Table[]) {
      if (table.TableStatus === 'DELETING') await dropTable(db, table)
      else if (!isActive(table))
        await db.commit([{ type: 'put', key: keys.table(table.TableName), value: active(table) }])
    }
  }
}

const isActive = (table: Table) =>
  table.TableStatus === 'ACTIVE' &&
  (table.GlobalSecondaryIndexes ?? []).every(index => (index.IndexStatus ?? 'ACTIVE') === 'ACTIVE')

function active(table: Table): Table {
  const indexes = table.GlobalSecondaryIndexes?.map(index => ({ ...index, IndexStatus: 'ACTIVE' }))
  return { ...table, TableStatus: 'ACTIVE', ...(indexes && { GlobalSecondaryIndexes: indexes }) }
}

/** The tables' names, in order. */
export async function tableNames(db: Database): Promise<string[]> {
  const { TableNames } = (await act('ListTables', new ReadStore(db), { Limit: Number.MAX_SAFE_INTEGER })) as {
    TableNames: string[]
  }
  return TableNames
}
