import { setImmediate } from 'node:timers/promises'
import type { Database } from './database.js'
import { type Answer, answerTo, unknownOperation } from './errors.js'
import { readMany, readOne, transactGet } from './reads.js'
import { parseBody } from './request.js'
import { createTable, deleteTable, updateTable } from './tables.js'
import type { Tokens } from './tokens.js'
import { transactWrite } from './transactions.js'
import { describeTtl, updateTtl } from './ttl.js'
import type { Data } from './types.js'
import { write } from './writes.js'

type Handler = (data: Data) => Promise<unknown>

/** Every operation, by the name that requests carry. */
function handlers(db: Database, tokens: Tokens, now: () => number): Map<string, Handler> {
  const all: Record<string, Handler> = {
    BatchGetItem: readMany(db, 'BatchGetItem'),
    BatchWriteItem: write(db, 'BatchWriteItem'),
    CreateTable: createTable(db, now),
    DeleteItem: write(db, 'DeleteItem'),
    DeleteTable: deleteTable(db),
    DescribeTable: readOne(db, 'DescribeTable'),
    DescribeTimeToLive: describeTtl(db),
    GetItem: readOne(db, 'GetItem'),
    ListTables: readOne(db, 'ListTables'),
    ListTagsOfResource: readMany(db, 'ListTagsOfResource'),
    PutItem: write(db, 'PutItem'),
    Query: readMany(db, 'Query'),
    Scan: readMany(db, 'Scan'),
    TagResource: write(db, 'TagResource'),
    TransactGetItems: transactGet(db),
    TransactWriteItems: transactWrite(db, tokens),
    UntagResource: write(db, 'UntagResource'),
    UpdateItem: write(db, 'UpdateItem'),
    UpdateTable: updateTable(db, now),
    UpdateTimeToLive: updateTtl(db)
  }
  return new Map(Object.entries(all).map(([name, handler]) => [`DynamoDB_20120810.${name}`, handler]))
}

/** Answers one request, whatever it is. */
export type Dispatch = (target: string | undefined, body: string | Uint8Array) => Promise<Answer>

/** Makes the function that answers requests; every exception becomes an error answer to that caller alone. */
export function createDispatch(db: Database, tokens: Tokens, now: () => number): Dispatch {
  const all = handlers(db, tokens, now)
  return async (target, body) => {
    // Reads are done at once: without a turn of the event loop, a caller that reads in a loop would hold up all others.
    await setImmediate()
    try {
      const data = parseBody(body)
      const handler = all.get(target ?? '')
      if (!handler) throw unknownOperation()
      // Some of dynalite's actions answer with nothing.
      return { status: 200, body: JSON.stringify((await handler(data)) || {}) }
    } catch (err) {
      return answerTo(err)
    }
  }
}
