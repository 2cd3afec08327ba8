import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { LiveMetrics } from '../plugins/metrics.js'
import { Problem } from '../problems.js'
import type { RealtimeService } from '../services/realtime.js'
import { secondsOf } from '../services/ttl.js'
import type { Broker, Listener } from './broker.js'
import { createHub } from './hub.js'
import type { Sink } from './outbox.js'
import { createSession, type Session } from './session.js'

export interface LiveOptions {
  service: RealtimeService
  broker: Broker
  metrics: LiveMetrics
  /** How long, in seconds, a connection outlives its last sign of life. */
  ttl: number
  maxSubscriptions: number
  now: () => number
  randomBytes: (size: number) => Buffer
  log: FastifyBaseLogger
}

const GOING_AWAY = 1001
const ENDED = 4001
const EXPIRY_MS = 1000
const MAX_TRIES = 5

/** All live connections of this node, and the way of states to them. */
export function createLive(options: LiveOptions) {
  const { service, broker, metrics, ttl, maxSubscriptions, now, randomBytes, log } = options
  const sessions = new Map<string, Session>()
  const endings = new Set<Promise<void>>()
  let isClosing = false
  const failed = (err: unknown) => log.warn({ err }, 'a state could not be read for its subscribers')
  const hub = createHub({ findState: service.findState, now, failed })
  const timer = setInterval(() => void hub.expire(), EXPIRY_MS).unref()
  const sum = (count: (session: Session) => number) =>
    [...sessions.values()].reduce((total, session) => total + count(session), 0)
  metrics.collect(() => ({
    connections: sessions.size,
    subscriptions: sum(session => session.size()),
    waiting: sum(session => session.waiting())
  }))

  const left = (err: unknown) => log.warn({ err }, 'a subscription could not be looked up')
  const receive: Listener['receive'] = (event, at) => {
    if (!('connectionId' in event)) return hub.receive(event, at)
    const session = sessions.get(event.connectionId)
    if (event.kind === 'subscribed') session?.added(event.name).catch(left)
    else if (event.kind === 'unsubscribed') session?.dropped(event.name).catch(left)
    else session?.end(ENDED, 'The connection was ended')
  }
  broker.subscribe({ receive, recover: () => void hub.refresh() })

  /** A connection over a sink, written before it is used. */
  async function open(userId: string, sink: Sink): Promise<Session> {
    if (isClosing) throw new Problem('shutting-down')
    const connectionId = `live-${randomBytes(16).toString('hex')}`
    await service.connect(connectionId, { userId, ttl: secondsOf(now) + ttl })
    const session = createSession({ connectionId, sink, hub, service, metrics, ttl, maxSubscriptions, now, ended })
    sessions.set(connectionId, session)
    if (isClosing) session.end(GOING_AWAY, 'The server is stopping')
    return session
  }

  /** The end of a connection is a disconnect; if it fails for good, its `ttl` ends it. */
  function ended(connectionId: string): void {
    sessions.delete(connectionId)
    const ending = disconnect(connectionId).catch(err => log.warn({ err }, 'a connection is left to its ttl'))
    endings.add(ending)
    void ending.finally(() => endings.delete(ending))
  }

  async function disconnect(connectionId: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await service.disconnect(connectionId)
      } catch (error) {
        if (error instanceof Problem && error.status === 404) return
        if (attempt === MAX_TRIES) throw error
        await sleep(50 * 2 ** attempt)
      }
    }
  }

  async function close(): Promise<void> {
    isClosing = true
    clearInterval(timer)
    for (const session of [...sessions.values()]) session.end(GOING_AWAY, 'The server is stopping')
    while (endings.size > 0) await Promise.all(endings)
    hub.close()
    await broker.close()
  }

  return { open, close, isClosing: () => isClosing }
}

export type Live = ReturnType<typeof createLive>
