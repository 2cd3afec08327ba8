import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../problems.js'
import type { Dynamo } from './client.js'
import { createPool } from './pool.js'
import type { Item } from './values.js'

const BATCH_SIZE = 25
const BATCHES_AT_ONCE = 16
const MAX_TRIES = 12

type WriteRequest = { PutRequest: { Item: Item } } | { DeleteRequest: { Key: Item } }

/**
 * Writes any number of requests in batches, several at a time, and again what DynamoDB leaves unprocessed. A batch cannot
 * carry a condition; `mayWrite` is asked before each is sent, and throws where it may not be.
 */
export async function writeBatches(
  dynamo: Dynamo,
  table: string,
  requests: AsyncIterable<WriteRequest>,
  mayWrite: () => Promise<void> = async () => {}
): Promise<number> {
  const pool = createPool(BATCHES_AT_ONCE)
  let batch: WriteRequest[] = []
  let count = 0
  const start = () => {
    const work = writeBatch(dynamo, table, batch, mayWrite)
    batch = []
    return pool.add(work)
  }
  try {
    for await (const request of requests) {
      count += 1
      if (batch.push(request) === BATCH_SIZE) await start()
    }
    if (batch.length) await start()
  } finally {
    // Whatever the outcome, nothing goes on behind the caller's back.
    await pool.finish()
  }
  return count
}

async function writeBatch(
  dynamo: Dynamo,
  table: string,
  batch: WriteRequest[],
  mayWrite: () => Promise<void>
): Promise<void> {
  let left = batch
  for (let attempt = 0; left.length > 0; attempt++) {
    if (attempt === MAX_TRIES) throw new Problem('database-unavailable', undefined, { headers: { 'retry-after': '1' } })
    if (attempt > 0) await sleep(Math.random() * Math.min(25 * 2 ** attempt, 5000))
    await mayWrite()
    const { UnprocessedItems } = await dynamo.request('BatchWriteItem', { RequestItems: { [table]: left } })
    left = (UnprocessedItems as Record<string, WriteRequest[]> | undefined)?.[table] ?? []
  }
}
