import { atLeastOne, consumed, type Unit } from './capacity.js'
import type { Database } from './database.js'
import { act, type Operation } from './dynalite.js'
import { validation } from './errors.js'
import type { LegacyCondition } from './legacy.js'
import { check, checkFields, checkMember, judge, typesOf } from './request.js'
import { checkKeyConditions } from './rows.js'
import { itemBytes } from './sizes.js'
import { ReadStore } from './store.js'
import type { Data, Item } from './types.js'

const MAX_BYTES = 4 * 1024 * 1024

/** A read of one row: whatever is stored at this moment. */
export const readOne = (db: Database, name: Operation) => async (data: Data) =>
  act(name, new ReadStore(db), check(name, data))

/** A read of many rows, all of one moment: half of a transaction is never seen, and no writer waits. */
export const readMany = (db: Database, name: Operation) => async (data: Data) => {
  const request = judge(check(name, data))
  if (name === 'Query') {
    const { table } = new ReadStore(db).table(request.TableName)
    checkKeyConditions(table, request.IndexName as string, request.KeyConditions as Record<string, LegacyCondition>)
  }
  const answer = await db.reading(snapshot =>
    act(name, new ReadStore(db, snapshot, request.ExclusiveStartKey as Item), request)
  )
  return atLeastOne(answer as Data, request.ConsistentRead)
}

const { AttributesToGet, ConsistentRead, ReturnConsumedCapacity, ...getTypes } = typesOf('GetItem')

const types = {
  ReturnConsumedCapacity,
  TransactItems: {
    type: 'List',
    notNull: true,
    lengthGreaterThanOrEqual: 1,
    lengthLessThanOrEqual: 100,
    children: {
      type: 'ValueStruct<TransactGetItem>',
      children: { Get: { type: 'FieldStruct<Get>', notNull: true, children: getTypes } }
    }
  }
}

/** TransactGetItems: all items as they were at one moment. */
export const transactGet = (db: Database) => async (data: Data) => {
  const request = checkFields(data, types)
  const gets = (request.TransactItems as { Get: Data }[]).map(({ Get }) => Get)
  for (const get of gets) checkMember('GetItem', get)
  return db.reading(async snapshot => {
    const store = new ReadStore(db, snapshot)
    refuseRepeated(store, gets)
    const Responses: { Item?: Item }[] = []
    const units: Unit[] = []
    for (const get of gets) {
      Responses.push((await act('GetItem', store, get)) as { Item?: Item })
      const whole = store.item(get.TableName as string, get.Key as Item)
      units.push({ table: get.TableName as string, bytes: whole ? itemBytes(whole) : 0 })
    }
    const bytes = units.reduce((sum, unit) => sum + unit.bytes, 0)
    if (bytes > MAX_BYTES) throw validation(`Payload in response is too large.${bytes}`)
    return { Responses, ...consumed('Read', request.ReturnConsumedCapacity, units) }
  })
}

function refuseRepeated(store: ReadStore, gets: Data[]): void {
  const seen = new Set<string>()
  for (const get of gets) {
    const [table, key] = [get.TableName as string, get.Key as Item]
    const invalid = store.invalidKey(table, key, false)
    if (invalid) throw invalid
    const place = store.place(table, key)
    if (seen.has(place)) throw validation('Transaction request cannot include multiple operations on one item')
    seen.add(place)
  }
}
