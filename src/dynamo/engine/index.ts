import { openDatabase } from './database.js'
import { createDispatch, type Dispatch } from './dispatch.js'
import { version } from './dynalite.js'
import { type Answer, answerTo } from './errors.js'
import { type ClientHandler, clientHandler } from './handler.js'
import { type Listening, listen } from './http.js'
import { oneAtATime } from './level.js'
import { type ExpiredListener, Outbox } from './outbox.js'
import { repair, tableNames } from './tables.js'
import { Tokens } from './tokens.js'
import { sweep } from './ttl.js'

export type { Expired } from './outbox.js'

const DYNALITE = '4.0.0'

export interface EngineOptions {
  /** A folder for LevelDB, or undefined for memory. */
  path?: string
  /** Milliseconds since the epoch; tests hold it still. */
  now?: () => number
}

/** A DynamoDB inside this process. */
export interface Engine {
  /** Answers one request as DynamoDB would; never throws, never ends the process. */
  handle(target: string | undefined, body: string | Uint8Array): Promise<Answer>
  /** For AWS clients in this process: `new DynamoDBClient({ requestHandler: engine.requestHandler() })`, no socket. */
  requestHandler(): ClientHandler
  /** Opens the endpoint on 127.0.0.1 for any AWS client; port 0 picks one. */
  listen(port: number): Promise<Listening>
  /** Deletes what has expired, and has listeners told; gives how many. */
  sweep(): Promise<number>
  /** Sweeps every `ms`, until the engine is closed. */
  startSweeper(ms: number): void
  /**
   * Tells of what TTL removed from a table whose stream is enabled, at least once: again after a failure or a restart,
   * until the listener resolves. Gives a function that ends it.
   */
  onExpired(tableName: string, listener: ExpiredListener): () => void
  /** Ends the sweeper and the endpoints, waits for what is under way, lets go of the folder. */
  close(): Promise<void>
}

/** Opens an engine on a folder, which it has to itself, or in memory. */
export async function openEngine({ path, now = Date.now }: EngineOptions = {}): Promise<Engine> {
  if (version !== DYNALITE) throw new Error(`The engine is built on dynalite ${DYNALITE}, but ${version} is installed`)
  const db = await openDatabase(path)
  await repair(db)
  const outbox = new Outbox(db, now)
  const { dispatch, finish } = closable(createDispatch(db, await Tokens.load(db, now), now))
  const endpoints = new Set<Listening>()
  const inTurn = oneAtATime()
  let sweeper: NodeJS.Timeout | undefined

  const sweepAll = () =>
    inTurn(async () => {
      const count = await sweep(db, outbox, now)
      await outbox.deliverAll()
      await outbox.forgetOld(await tableNames(db))
      return count
    })

  return {
    handle: dispatch,
    requestHandler: () => clientHandler(dispatch),
    async listen(port) {
      const endpoint = await listen(dispatch, port)
      endpoints.add(endpoint)
      return endpoint
    },
    sweep: sweepAll,
    startSweeper(ms) {
      clearInterval(sweeper)
      let isSweeping = false
      const tick = async () => {
        if (isSweeping) return
        isSweeping = true
        // What fails now, a listener for example, is tried again with the next sweep.
        await sweepAll().catch(() => {})
        isSweeping = false
      }
      sweeper = setInterval(tick, ms).unref()
    },
    onExpired: (tableName, listener) => outbox.listen(tableName, listener),
    async close() {
      clearInterval(sweeper)
      await Promise.all(Array.from(endpoints, endpoint => endpoint.close()))
      await finish()
      await inTurn(() => outbox.close())
      await db.close()
    }
  }
}

/** Counts the requests under way, so that closing can wait for them and refuse those that come later. */
function closable(inner: Dispatch): { dispatch: Dispatch; finish(): Promise<void> } {
  const underway = new Set<Promise<Answer>>()
  let isClosed = false
  const dispatch: Dispatch = async (target, body) => {
    if (isClosed) return answerTo(new Error('The engine is closed'))
    const answer = inner(target, body)
    underway.add(answer)
    return answer.finally(() => underway.delete(answer))
  }
  return {
    dispatch,
    async finish() {
      isClosed = true
      await Promise.all(underway)
    }
  }
}
