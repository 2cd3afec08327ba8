import { Redis } from 'ioredis'
import t from 'tap'
import type { LiveEvent } from '../src/live/broker.js'
import { redisBroker } from '../src/live/redis.js'
import type { Test } from './helpers.js'
import { listen, openSocket, until } from './live-helpers.js'
import { freePort, noRedis, spawnRedis } from './node-helpers.js'

const CHANNEL = 'quintet:realtime:compose'
type Log = Parameters<typeof redisBroker>[0]['log']

/** A node's end of Redis, and all that it hears. */
function node(t: Test, port: number) {
  const heard: LiveEvent[] = []
  const said: string[] = []
  const counts = { recovered: 0 }
  const note = (_: object, line: string) => void said.push(line)
  const log = { error: note, info: note } as unknown as Log
  const broker = redisBroker({ url: `redis://127.0.0.1:${port}`, channel: CHANNEL, now: Date.now, log })
  broker.subscribe({
    receive: event => void heard.push(event),
    recover: () => {
      counts.recovered += 1
    }
  })
  t.teardown(() => broker.close())
  return { broker, heard, said, counts }
}

const set = (name: string, version = 1): LiveEvent & { kind: 'set' } => ({
  kind: 'set',
  created: false,
  state: { name, value: version, version, updatedAt: new Date().toISOString() }
})

t.test('whatever is said on the channel by others, a node goes on', { skip: noRedis }, async t => {
  const port = await freePort()
  await spawnRedis(t, port)
  const { url, metrics, config } = await listen(t, { env: { REDIS_URL: `redis://127.0.0.1:${port}` } })
  const channel = `quintet:realtime:${config.tables.realtime}`
  const client = new Redis(port, '127.0.0.1')
  t.teardown(() => client.disconnect())
  await until('the node’s ear', async () => (await client.publish(channel, '')) === 1)
  const socket = await openSocket(url)
  const { connectionId } = await socket.call('subscribe', 'a')
  await socket.call('set', 'a', { value: 1 })
  await socket.value('a', 1)

  const right = {
    node: 'other',
    at: Date.now(),
    event: { ...set('a', 2), state: { ...set('a', 2).state, value: 'right' } }
  }
  const { event, ...envelope } = right
  const nested = `${'['.repeat(8000)}${']'.repeat(8000)}`
  const wrong: unknown[] = [
    ...[null, 7, 'text', [], {}, { event: null }, { event: 7 }, { event: {} }],
    { ...envelope, event: { kind: 'unknown', name: 'a' } },
    { ...envelope, event: { kind: '__proto__' } },
    { ...envelope, event: { kind: 'set' } },
    { ...envelope, event: { kind: 'deleted', name: 7 } },
    { ...envelope, event: { kind: 'disconnected' } },
    { ...envelope, event: { kind: 'subscribed', connectionId } },
    { ...right, at: 'now' },
    { ...right, at: null },
    { ...right, node: undefined },
    ...[
      { name: null },
      { version: '9' },
      { version: 1.5 },
      { version: -1 },
      { value: undefined },
      { updatedAt: 7 }
    ].map(odd => ({ ...envelope, event: { ...event, state: { ...event.state, ...odd } } }))
  ]
  const deep = JSON.stringify({ ...right, event: set('a', 2) }).replace('"value":2', () => `"value":${nested}`)
  for (const text of ['', '{', '\ud800', deep, ...wrong.map(one => JSON.stringify(one))]) {
    await client.publish(channel, text)
  }
  await client.publish(channel, Buffer.from([0xff, 0x00, 0xfe]))
  await client.publish(channel, JSON.stringify(right))
  t.match(await socket.value('a', 2), { value: 'right' }, 'what is an event is taken')
  t.equal(socket.values('a').length, 2, 'and nothing else')
  t.match(await socket.call('set', 'a', { value: 2 }), { type: 'ok' })
  await until('a lag', async () => (await metrics.live.lag.get()).values.some(({ value }) => value > 0))
})

t.test('a Redis that is away at the start and for long', { skip: noRedis }, async t => {
  const port = await freePort()
  const one = node(t, port)
  const two = node(t, port)
  for (let i = 0; i < 10_050; i++) one.broker.publish(set(`s${i}`))
  t.equal(one.heard.length, 10_050, 'its own sockets hear at once')
  await until('a word about it', () => one.said.length === 2)
  await spawnRedis(t, port)
  await until('both', () => one.counts.recovered > 0 && two.counts.recovered > 0)
  one.broker.publish(set('now'))
  // In full, or by its name alone if the side that says it is back later than the side that listens.
  await until('news again', () => two.heard.some(event => JSON.stringify(event).includes('"now"')))
  t.ok(two.heard.length < 10_000, `${two.heard.length} of what was before were kept`)
})

t.test('what could not be said is said later, of each the last', { skip: noRedis }, async t => {
  const port = await freePort()
  await spawnRedis(t, port)
  const client = new Redis(port, '127.0.0.1')
  t.teardown(() => client.disconnect())
  const one = node(t, port)
  const two = node(t, port)
  await until('both', () => one.counts.recovered > 0 && two.counts.recovered > 0)
  one.broker.publish(set('first'))
  await until('the first', () => two.heard.length === 1)
  await client.call('ACL', 'SETUSER', 'default', '-publish')
  one.broker.publish(set('s', 1))
  one.broker.publish(set('s', 2))
  one.broker.publish({ kind: 'subscribed', name: 's', connectionId: 'c' })
  one.broker.publish({ kind: 'unsubscribed', name: 's', connectionId: 'c' })
  one.broker.publish({ kind: 'disconnected', connectionId: 'd' })
  await until('a word about each', () => one.said.filter(line => line.startsWith('Redis refuses')).length === 5)
  await client.call('ACL', 'SETUSER', 'default', '+publish')
  await client.call('CLIENT', 'KILL', 'TYPE', 'normal')
  await until('what waited', () => two.heard.length === 4)
  t.strictSame(two.heard.slice(1), [
    { kind: 'changed', name: 's' },
    { kind: 'unsubscribed', name: 's', connectionId: 'c' },
    { kind: 'disconnected', connectionId: 'd' }
  ])

  await client.call('ACL', 'SETUSER', 'default', '-publish')
  for (let i = 0; i < 10_050; i++) one.broker.publish(set(`s${i}`))
  await until('a word about each', () => one.said.filter(line => line.startsWith('Redis refuses')).length === 10_055)
  await client.call('ACL', 'SETUSER', 'default', '+publish')
  const { recovered } = two.counts
  await client.call('CLIENT', 'KILL', 'TYPE', 'normal')
  await until('the last', () => two.heard.some(event => event.kind === 'changed' && event.name === 's10049'))
  t.equal(two.counts.recovered, recovered + 1, 'of too many only it is told that they were')
  t.ok(two.heard.length < 100)
})

t.test('a Redis that does not let us listen', { skip: noRedis }, async t => {
  const port = await freePort()
  await spawnRedis(t, port)
  const client = new Redis(port, '127.0.0.1')
  t.teardown(() => client.disconnect())
  await client.call('ACL', 'SETUSER', 'default', 'resetchannels')
  const { said, counts } = node(t, port)
  await until('a word about it', () => said.some(line => line.startsWith('Redis does not let us listen')))
  t.equal(counts.recovered, 0)
  await client.call('ACL', 'SETUSER', 'default', 'allchannels')
  await until('its ear', () => counts.recovered === 1)
  t.pass('it tries again')
})
