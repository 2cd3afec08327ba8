import { withIndexes } from './capacity.js'
import type { Database } from './database.js'
import { act, type Operation, type Parsed } from './dynalite.js'
import { isApiError, isConditionFailure } from './errors.js'
import { Overlay } from './overlay.js'
import { check, judge } from './request.js'
import type { Data, Item } from './types.js'
import { checkNumbers, settleUpdate } from './updates.js'

/** PutItem, UpdateItem, DeleteItem, BatchWriteItem, and tags: each one atomic batch of all rows it touches. */
export const write = (db: Database, name: Operation) => async (data: Data) => {
  const request = judge(check(name, data))
  return db.write(async () => {
    const overlay = new Overlay(db)
    try {
      const answer = await actOn(overlay, name, request)
      await overlay.commit()
      return withIndexes(answer as Data, request.ReturnConsumedCapacity, overlay.moves)
    } catch (err) {
      throw withOldItem(err, overlay, request)
    }
  })
}

/** Does one write on an overlay; alone or as a member of a transaction. */
export async function actOn(overlay: Overlay, name: Operation, request: Parsed): Promise<unknown> {
  settleUpdate(overlay, request)
  const answer = await act(name, overlay, request)
  checkNumbers(overlay, request)
  return answer
}

function withOldItem(err: unknown, overlay: Overlay, request: Parsed): unknown {
  if (!isApiError(err) || !isConditionFailure(err) || request.ReturnValuesOnConditionCheckFailure !== 'ALL_OLD') {
    return err
  }
  const old = overlay.item(request.TableName, (request.Key ?? request.Item) as Item)
  if (old) err.body.Item = old
  return err
}
