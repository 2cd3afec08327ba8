import type { FastifyBaseLogger } from 'fastify'
import type { RawData, WebSocket } from 'ws'
import type { LiveMetrics } from '../plugins/metrics.js'
import { invalid, Problem } from '../problems.js'
import type { RealtimeService } from '../services/realtime.js'
import type { Live } from './live.js'
import type { Session } from './session.js'

export interface LiveRequest {
  type: 'subscribe' | 'unsubscribe' | 'get' | 'set'
  id?: string | number
  name: string
  value?: unknown
  since?: number
  updatedAt?: string
}

export interface SocketOptions {
  userId: string
  live: Live
  service: RealtimeService
  metrics: LiveMetrics
  ttl: number
  /** Messages a second. */
  rate: number
  now: () => number
  log: FastifyBaseLogger
  /** The request that a message is; throws the problem that it has. */
  check(message: unknown): LiveRequest
  problemOf(error: unknown): Problem
}

const UNSUPPORTED = 1003
const POLICY = 1008
const TRY_LATER = 1013
const MAX_PING_MS = 15_000
/** Pings without an answer before a socket is given up. */
const MAX_MISSED = 3
/** Requests that may wait for their answers before the socket is read no further. */
const MAX_WAITING = 32
/** How many more requests may be refused than are heard; whoever goes on is closed. */
const MAX_REFUSED = 100

/** Serves one WebSocket: requests in their order, each answered with `ok` or `error`, and values as they come. */
export async function serveSocket(socket: WebSocket, options: SocketOptions): Promise<void> {
  const { live, userId, ttl, log } = options
  const requests: RawData[] = []
  let session: Session | undefined
  let isWorking = false
  let missed = 0

  const sink = {
    send: ({ text }: { text: string }, taken: () => void) => socket.send(text, error => error || taken()),
    close: (code: number, reason: string) => {
      socket.close(code, reason)
      // A socket that is not read does not hear the other side's goodbye.
      socket.resume()
    }
  }
  const allows = limiter(options)
  const work = async () => {
    if (isWorking || !session) return
    isWorking = true
    for (let data = requests.shift(); data && socket.readyState === socket.OPEN; data = requests.shift()) {
      if (requests.length === 0) socket.resume()
      await answer(session, data, allows(), options)
    }
    isWorking = false
  }

  socket.on('message', (data, isBinary) => {
    if (socket.readyState !== socket.OPEN) return
    if (isBinary) return socket.close(UNSUPPORTED, 'Send text')
    options.metrics.messages.inc({ direction: 'in' })
    if (requests.push(data) >= MAX_WAITING) socket.pause()
    work().catch(err => {
      log.error({ err }, 'a socket’s message could not be answered')
      socket.terminate()
    })
  })
  socket.on('pong', () => {
    missed = 0
  })
  const heartbeat = setInterval(
    () => {
      if (missed >= MAX_MISSED) return socket.terminate()
      missed += 1
      socket.ping()
      session?.keepAlive().catch(err => log.warn({ err }, 'a live connection could not be renewed'))
    },
    Math.min(MAX_PING_MS, (ttl * 1000) / 4)
  ).unref()
  socket.on('close', () => {
    clearInterval(heartbeat)
    session?.end(1000, '')
  })

  try {
    session = await live.open(userId, sink)
    if (socket.readyState !== socket.OPEN) session.end(1000, '')
    await work()
  } catch (error) {
    const problem = options.problemOf(error)
    log.warn({ err: problem.cause ?? error }, 'a socket could not be served')
    socket.close(problem.status === 503 ? TRY_LATER : 1011, problem.code)
  }
}

/** A bucket of tokens: so many a second, and two seconds' worth at once. */
function limiter({ rate, now }: SocketOptions): () => 'yes' | 'no' | 'never' {
  let tokens = rate * 2
  let last = now()
  let refused = 0
  return () => {
    const at = now()
    tokens = Math.min(rate * 2, tokens + ((at - last) / 1000) * rate)
    last = at
    if (tokens >= 1) {
      tokens -= 1
      refused = Math.max(0, refused - 1)
      return 'yes'
    }
    refused += 1
    return refused > MAX_REFUSED ? 'never' : 'no'
  }
}

async function answer(session: Session, data: RawData, allowed: 'yes' | 'no' | 'never', options: SocketOptions) {
  if (allowed === 'never') return session.end(POLICY, 'Too many messages')
  let id: unknown = null
  try {
    const message = parse(data)
    id = idOf(message)
    if (allowed === 'no') throw new Problem('too-many-requests', `Send at most ${options.rate} messages a second`)
    const request = options.check(message)
    await perform(session, request, options.service)
  } catch (error) {
    const { code, status, message: detail, extras, cause } = options.problemOf(error)
    options.metrics.messages.inc({ direction: 'refused' })
    if (status >= 500) options.log.error({ err: cause ?? error, code }, detail)
    await session.answer({ type: 'error', id, code, status, detail, errors: extras.errors })
  }
}

async function perform(session: Session, request: LiveRequest, service: RealtimeService): Promise<void> {
  const { type, name, value, since: version, updatedAt } = request
  const id = request.id ?? null
  if (type === 'subscribe') {
    const { connectionId } = session
    const since = version === undefined ? undefined : { version, updatedAt }
    return session.subscribe(name, since, () => void session.answer({ type: 'ok', id, name, connectionId }))
  }
  if (type === 'unsubscribe') {
    await session.unsubscribe(name)
    return session.answer({ type: 'ok', id, name })
  }
  if (type === 'get') {
    const state = await service.getState(name)
    return session.answer({ type: 'ok', id, ...state })
  }
  if (value === undefined) throw invalid('body/value', 'is required')
  const { state } = await service.setState(name, { value })
  return session.answer({ type: 'ok', id, name, version: state.version, updatedAt: state.updatedAt })
}

function parse(data: RawData): unknown {
  try {
    return JSON.parse(data.toString())
  } catch {
    throw new Problem('invalid-json', 'The message is not JSON')
  }
}

function idOf(message: unknown): string | number | null {
  const { id } = (message ?? {}) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
