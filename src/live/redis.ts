import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { Redis, type RedisOptions } from 'ioredis'
import type { RealtimeEvent } from '../services/realtime-events.js'
import { type Broker, type Listener, type LiveEvent, localBroker } from './broker.js'
import { type Envelope, parseEnvelope } from './envelope.js'

/** Larger values are announced, and read from DynamoDB by the nodes whose sockets want them. */
const MAX_INLINE = 16 * 1024
const MAX_RETRY_MS = 2000
/** How long Redis may take to say something when it is asked; then it is taken for gone. */
const SILENCE_MS = 5000
const PING_MS = 10_000
/** Events that wait for Redis to come back; of more than that, only it is told that they were. */
const MAX_UNTOLD = 10_000

export interface RedisBrokerOptions {
  url: string
  /** Nodes that share a channel serve the same table. */
  channel: string
  now: () => number
  log: FastifyBaseLogger
}

/**
 * For several nodes: Redis carries events, and only carries them. What it loses is made good: a node that was cut off
 * reads what its sockets watch, and says later what it could not publish.
 */
export function redisBroker({ url, channel, now, log }: RedisBrokerOptions): Broker {
  const node = randomUUID()
  const local = localBroker(now)
  const options: RedisOptions = {
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 5000,
    socketTimeout: SILENCE_MS,
    keepAlive: 10_000,
    retryStrategy: attempt => Math.min(50 * 2 ** attempt, MAX_RETRY_MS)
  }
  const sender = new Redis(url, options)
  const receiver = new Redis(url, options)
  const listeners: Listener[] = []
  const untold = new Map<string, LiveEvent>()

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
  const recover = () => {
    for (const listener of listeners) listener.recover()
  }

  receiver.on('ready', () => {
    receiver.subscribe(channel).then(recover, ({ message }: Error) => {
      // The connection has broken again; the next one does the same.
      if (receiver.status !== 'ready') return
      log.error({ reason: message }, 'Redis does not let us listen: this node does not hear of the writes of others')
      setTimeout(() => receiver.disconnect(true), MAX_RETRY_MS).unref()
    })
  })
  receiver.on('message', (_channel: string, text: string) => {
    const envelope = parseEnvelope(text)
    if (!envelope || envelope.node === node) return
    const { event, at } = envelope
    if (event.kind === 'missed') return recover()
    for (const listener of listeners) listener.receive(event, at)
  })
  // One that only listens would not notice that the other side is silent because it is not there.
  const pings = setInterval(() => receiver.ping().catch(() => {}), PING_MS).unref()
  sender.on('ready', () => {
    const events = [...untold.values()]
    untold.clear()
    for (const event of events) send(event)
  })

  function send(event: LiveEvent): void {
    const envelope: Envelope = { node, at: now(), event }
    sender.publish(channel, JSON.stringify(envelope)).catch(({ message }: Error) => {
      if (sender.status === 'ready') log.error({ reason: message }, 'Redis refuses news: other nodes do not hear of it')
      keep(event)
    })
  }

  /** Keeps what could not be said: of each state, subscription and connection the last. */
  function keep(event: LiveEvent): void {
    if (event.kind === 'missed' || untold.size >= MAX_UNTOLD) {
      untold.clear()
      untold.set('', { kind: 'missed' })
    } else if (event.kind === 'disconnected') untold.set(`connection#${event.connectionId}`, event)
    else if ('connectionId' in event) untold.set(`subscription#${event.connectionId}#${event.name}`, event)
    else {
      const name = event.kind === 'set' ? event.state.name : event.name
      untold.set(`state#${name}`, { kind: 'changed', name })
    }
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
      clearInterval(pings)
      sender.disconnect()
      receiver.disconnect()
    }
  }
}

function isLarge(event: RealtimeEvent): event is Extract<RealtimeEvent, { kind: 'set' }> {
  return event.kind === 'set' && JSON.stringify(event.state.value).length > MAX_INLINE
}
