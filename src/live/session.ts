import type { LiveMetrics } from '../plugins/metrics.js'
import { Problem } from '../problems.js'
import type { RealtimeService } from '../services/realtime.js'
import { secondsOf } from '../services/ttl.js'
import type { Feed, Hub, Since } from './hub.js'
import { createOutbox, type Sink } from './outbox.js'

export interface SessionOptions {
  connectionId: string
  sink: Sink
  hub: Hub
  service: RealtimeService
  metrics: LiveMetrics
  ttl: number
  maxSubscriptions: number
  now: () => number
  /** Called once, when the session is over. */
  ended(connectionId: string): void
}

const GONE = 4001
/** Heartbeats come at quarters of a ttl or more often; a little less than half, so that the one at half is not missed. */
const RENEW_AFTER = 0.4

/** One live connection: its Connection item, its subscriptions, and what is on the way to it. */
export function createSession(options: SessionOptions) {
  const { connectionId, sink, hub, service, metrics, ttl, maxSubscriptions, now } = options
  const feeds = new Map<string, Feed>()
  /** Subscriptions that are being written; the news of them is no reason to attach a second time. */
  const beginning = new Set<string>()
  let isOver = false
  let renewedAt = now()
  let isRenewing = false
  const outbox = createOutbox(sink, message => {
    metrics.messages.inc({ direction: 'out' })
    if (message.at !== undefined) metrics.lag.observe(Math.max(0, now() - message.at) / 1000)
  })
  const end = () => secondsOf(now) + ttl

  function attach(name: string, since?: Since): void {
    if (isOver) return
    const feed = { name, since, send: outbox.put }
    feeds.set(name, feed)
    hub.watch(feed)
  }

  /** A subscription may have been begun elsewhere. */
  async function added(name: string): Promise<void> {
    if (!feeds.has(name)) await review(name)
  }

  /** A subscription may have been ended elsewhere. */
  async function dropped(name: string): Promise<void> {
    if (!feeds.has(name)) return
    detach(name)
    await review(name)
  }

  /** News from elsewhere may be old: what is stored decides. It gets our ttl, so that it does not outlive us, either. */
  async function review(name: string): Promise<void> {
    if (isOver || beginning.has(name) || !(await service.renew(name, connectionId, end()))) return
    if (!beginning.has(name) && !feeds.has(name)) attach(name)
  }

  function detach(name: string): void {
    const feed = feeds.get(name)
    if (!feed) return
    feeds.delete(name)
    hub.unwatch(feed)
    outbox.drop(name)
  }

  /** Subscribes; a client that is subscribed already begins anew from `since`. `told` comes before any value. */
  async function subscribe(name: string, since: Since | undefined, told: () => void): Promise<void> {
    if (feeds.size + beginning.size >= maxSubscriptions && !feeds.has(name)) {
      throw new Problem('too-many-requests', `A connection has at most ${maxSubscriptions} subscriptions`)
    }
    beginning.add(name)
    try {
      await service.subscribe(name, connectionId, { ttl: end() })
    } finally {
      beginning.delete(name)
    }
    detach(name)
    told()
    attach(name, since)
  }

  async function unsubscribe(name: string): Promise<void> {
    detach(name)
    await service.unsubscribe(name, connectionId, 'unsubscribed')
  }

  /** Moves the end of the connection and its subscriptions, about when half of their time is over. */
  async function keepAlive(): Promise<void> {
    if (isRenewing || isOver || now() - renewedAt < ttl * 1000 * RENEW_AFTER) return
    isRenewing = true
    const started = now()
    try {
      if (!(await service.keepAlive(connectionId, end()))) return finish(GONE, 'The connection has expired')
      for (const name of [...feeds.keys()]) {
        if (!isOver && feeds.has(name) && !(await service.renew(name, connectionId, end()))) detach(name)
      }
      renewedAt = started
    } finally {
      isRenewing = false
    }
  }

  function finish(code: number, reason: string): void {
    if (isOver) return
    isOver = true
    for (const name of [...feeds.keys()]) detach(name)
    outbox.close()
    sink.close(code, reason)
    options.ended(connectionId)
  }

  return {
    connectionId,
    added,
    dropped,
    subscribe,
    unsubscribe,
    keepAlive,
    answer: outbox.answer,
    waiting: outbox.waiting,
    size: () => feeds.size,
    end: finish
  }
}

export type Session = ReturnType<typeof createSession>
