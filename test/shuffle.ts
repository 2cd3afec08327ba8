import { setTimeout as sleep } from 'node:timers/promises'
import type { Dynamo } from '../src/dynamo/client.js'
import type { Database } from '../src/dynamo/database.js'

/**
 * A database whose requests can overtake each other. In process, a call that has begun otherwise tends to end before the
 * next one is looked at, and a test of concurrent callers would race nothing.
 */
export function shuffling(database: Database) {
  let isShuffling = false
  const pause = () => (isShuffling ? sleep(Math.random() * 4) : undefined)
  const paused =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await pause()
      const result = await call(...args)
      await pause()
      return result
    }
  const slowed = ({ client, request, send }: Dynamo): Dynamo => ({
    client,
    request: paused(request),
    send: paused(send)
  })

  return {
    database: { ...database, dynamo: domain => slowed(database.dynamo(domain)) } satisfies Database,
    /** Runs an action during which requests to DynamoDB overtake each other. */
    async shuffled<T>(action: () => Promise<T>): Promise<T> {
      isShuffling = true
      try {
        return await action()
      } finally {
        isShuffling = false
      }
    }
  }
}
