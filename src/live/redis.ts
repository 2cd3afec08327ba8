import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { Redis, type RedisOptions } from 'ioredis'
import type { RealtimeEvent } from '../services/realtime-events.js'
import { type Broker, type LiveEvent, localBroker } from './broker.js'

/** Larger values are announced, and read from DynamoDB by the nodes whose sockets want them. */
const MAX_INLINE = 16 * 1024
const MAX_RETRY_MS = 2000

interface Envelope {
  node: string
  at: number
  event: LiveEvent
}

export interface RedisBrokerOptions {
  url: string
  /** Nodes that share a channel serve the same table. */
  channel: string
  now: () => number
  log: FastifyBaseLogger
}

/**
 * For several nodes: Redis carries events, and only carries them. What it loses is made good by reading: a node that
 * was cut off reads what its sockets watch, and names the states whose news it could not publish.
 */
export function redisBroker({ url, channel, now, log }: RedisBrokerOptions): Broker {
  const node = randomUUID()
  const local = localBroker(now)
  const options: RedisOptions = {
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 5000,
    keepAlive: 10_000,
    retryStrategy: attempt => Math.min(50 * 2 ** attempt, MAX_RETRY_MS)
  }
  const sender = new Redis(url, options)
  const receiver = new Redis(url, options)
  const listeners: Parameters<Broker['subscribe']>[0][] = []
  const untold = new Set<string>()

  for (const [role, client] of Object.entries({ sender, receiver })) {
    let isDown = false
    client.on('error', ({ message }: Error) => {
      if (!isDown) log.error({ role, reason: message }, 'Redis cannot be reached: other nodes do not hear of writes')
      isDown = true
    })
    client.on('ready', () => {
      if (isDown) log.info({ role }, 'Redis is back')
      isDown = false
    })
  }

  receiver.on('ready', () => {
    receiver.subscribe(channel).then(
      () => {
        for (const listener of listeners) listener.recover()
      },
      // The connection has broken again; the next one does the same.
      () => receiver.disconnect(true)
    )
  })
  receiver.on('message', (_channel: string, text: string) => {
    const { node: from, event, at } = parse(text) ?? { node }
    if (from === node || !event) return
    for (const listener of listeners) listener.receive(event, at ?? now())
  })
  sender.on('ready', () => {
    const names = [...untold]
    untold.clear()
    for (const name of names) send({ kind: 'changed', name })
  })

  function send(event: LiveEvent): void {
    const envelope: Envelope = { node, at: now(), event }
    sender.publish(channel, JSON.stringify(envelope)).catch(() => {
      if (event.kind === 'set') untold.add(event.state.name)
      else if (event.kind === 'deleted' || event.kind === 'changed') untold.add(event.name)
    })
  }

  return {
    publish(event) {
      local.publish(event)
      send(isLarge(event) ? { kind: 'changed', name: event.state.name } : event)
    },
    subscribe(listener) {
      local.subscribe(listener)
      listeners.push(listener)
    },
    async close() {
      sender.disconnect()
      receiver.disconnect()
    }
  }
}

function isLarge(event: RealtimeEvent): event is Extract<RealtimeEvent, { kind: 'set' }> {
  return event.kind === 'set' && JSON.stringify(event.state.value).length > MAX_INLINE
}

/** Others may use the channel, too: what is not ours is nothing. */
function parse(text: string): Partial<Envelope> | undefined {
  try {
    const envelope = JSON.parse(text)
    return typeof envelope?.event?.kind === 'string' ? envelope : undefined
  } catch {
    return undefined
  }
}
