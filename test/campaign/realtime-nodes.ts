import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openEvents, openSocket, until } from '../live-helpers.js'
import { freePort, spawnRedis, spawnServer } from '../node-helpers.js'

async function put(url: string, name: string, value: unknown): Promise<number> {
  const response = await fetch(`${url}/v1/states/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ value })
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return ((await response.json()) as { version: number }).version
}

/** A list of up to 100. */
async function itemsOf(url: string): Promise<{ ttl?: number }[]> {
  const response = await fetch(`${url}?limit=100`)
  return ((await response.json()) as { items: { ttl?: number }[] }).items
}

const active = async (url: string, name: string) => (await itemsOf(`${url}/v1/states/${name}/subscriptions`)).length

/** Two processes on one engine, with Redis between them, which restarts in the middle. */
export async function acrossNodes(t: Test, { sockets: count }: { sockets: number }): Promise<void> {
  const port = await freePort()
  const REDIS_URL = `redis://127.0.0.1:${port}`
  let redis = await spawnRedis(t, port)
  const one = await spawnServer(t, { EMBEDDED_DATA: 'memory', EMBEDDED_PORT: '0', REDIS_URL })
  const two = await spawnServer(t, { DYNAMODB: one.dynamo as string, REDIS_URL })
  const open = (url: string) => Promise.all(Array.from({ length: count }, () => openSocket(url)))
  const here = await open(one.url)
  const there = await open(two.url)
  const all = [...here, ...there]
  await Promise.all(all.map(socket => socket.call('subscribe', 'shared')))
  const arrives = async (version: number, what: string) => {
    for (const socket of all) await socket.value('shared', version)
    t.pass(what)
  }

  await arrives(await put(one.url, 'shared', 'small'), 'a write on one node reaches the sockets of both')
  await arrives(await put(two.url, 'shared', 'y'.repeat(300_000)), 'so does one that is too large to be carried')
  const { version } = await (there[0] as (typeof there)[0]).call('set', 'shared', { value: 'socket' })
  await arrives(version as number, 'and one through a socket')
  const { connectionId } = await (here[0] as (typeof here)[0]).call('subscribe', 'other')
  await fetch(`${two.url}/v1/connections/${connectionId}`, { method: 'DELETE' })
  t.match(await all.shift()?.closed, { code: 4001 }, 'a disconnect on one node closes the socket on the other')

  await redis.kill('SIGKILL')
  await put(one.url, 'shared', 'while Redis is away')
  const last = await put(two.url, 'shared', 'the newest')
  await sleep(200)
  redis = await spawnRedis(t, port)
  await arrives(last, 'after Redis is back, every subscriber has the newest value')
  await arrives(await put(one.url, 'shared', 'goes on'), 'and what follows')
  for (const socket of all) {
    const versions = socket.values('shared').map(message => message.version as number)
    if (versions.some((version, i) => i > 0 && version <= (versions[i - 1] as number)))
      t.fail(`${versions} do not rise`)
  }
  for (const socket of all) socket.close()
}

/** kill -9 of a server with sockets: nothing stays active beyond the ttl, and who comes back misses nothing. */
export async function killed(t: Test, { sockets: count, ttl }: { sockets: number; ttl: number }): Promise<void> {
  const stays = await spawnServer(t, { EMBEDDED_DATA: 'memory', EMBEDDED_PORT: '0' })
  const dies = await spawnServer(t, { DYNAMODB: stays.dynamo as string, LIVE_TTL: String(ttl) })
  const since = await put(dies.url, 'shared', 'before')
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket(dies.url, '?userId=ann')))
  const answers = await Promise.all(sockets.map(socket => socket.call('subscribe', 'shared')))
  for (const socket of sockets) await socket.value('shared', since)
  const ttls = async (paths: string[]) =>
    (await Promise.all(paths.map(path => itemsOf(`${stays.url}/v1/${path}`)))).flat().map(item => item.ttl as number)
  const lists = ['states/shared/subscriptions', 'users/ann/connections']
  const first = Math.max(...(await ttls(lists)))
  await until('a heartbeat that moves the ttl of each subscription and connection', async () => {
    const moved = await ttls(lists)
    return moved.length === 2 * count && moved.every(one => one > first)
  })
  // Between two heartbeats, so that only what has a ttl from the start is ended by it.
  const late = await openSocket(dies.url, '?userId=ann')
  const { connectionId } = await late.call('subscribe', 'other')
  await fetch(`${dies.url}/v1/states/rest/subscriptions/${connectionId}`, { method: 'PUT' })
  await until('its ttl', async () => {
    const items = await itemsOf(`${stays.url}/v1/connections/${connectionId}/subscriptions`)
    return items.length === 2 && items.every(({ ttl }) => ttl)
  })
  await dies.kill('SIGKILL')
  const end = Math.ceil(Date.now() / 1000) + ttl
  const newest = await put(stays.url, 'shared', 'after')
  const all = [...answers.map(answer => answer.connectionId), connectionId]
  const everywhere = [...lists, ...all.map(id => `connections/${id}/subscriptions`)]
  const left = await ttls(everywhere)
  t.ok(
    left.every(one => one <= end),
    `${left.length} items are listed after the kill, none for longer than a ttl`
  )
  await until('the end of that time', () => Date.now() >= end * 1000)
  t.strictSame(await ttls(everywhere), [], 'then nothing lists any of them')
  const again = await Promise.all(sockets.map(() => openSocket(stays.url)))
  await Promise.all(again.map(socket => socket.call('subscribe', 'shared', { since })))
  for (const socket of again) await socket.value('shared', newest)
  t.ok(
    again.every(socket => socket.values('shared').length === 1),
    'whoever comes back gets what is newer, once'
  )
  for (const socket of again) socket.close()
}

/** SIGTERM to a server with sockets: they are told, it exits with 0, and nothing is left active. */
export async function stopped(t: Test, { sockets: count }: { sockets: number }): Promise<void> {
  const stays = await spawnServer(t, { EMBEDDED_DATA: 'memory', EMBEDDED_PORT: '0' })
  const stops = await spawnServer(t, { DYNAMODB: stays.dynamo as string })
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket(stops.url)))
  await Promise.all(sockets.map(socket => socket.call('subscribe', 'shared')))
  const events = await openEvents(stops.url, 'shared')
  t.equal(await active(stays.url, 'shared'), count + 1)
  t.equal(await stops.kill('SIGTERM'), 0, 'it exits with 0')
  for (const socket of sockets) t.match(await socket.closed, { code: 1001 })
  await until('the end of the stream', events.isEnded)
  t.equal(await active(stays.url, 'shared'), 0)
  t.strictSame(await itemsOf(`${stays.url}/v1/users/anonymous/connections`), [], 'no connection is left')
}

/** A Redis that hangs, without closing its connections: it is noticed, and once it goes on everyone has the newest. */
export async function hung(t: Test): Promise<void> {
  const port = await freePort()
  const REDIS_URL = `redis://127.0.0.1:${port}`
  const redis = await spawnRedis(t, port)
  const one = await spawnServer(t, { EMBEDDED_DATA: 'memory', EMBEDDED_PORT: '0', REDIS_URL })
  const two = await spawnServer(t, { DYNAMODB: one.dynamo as string, REDIS_URL })
  const socket = await openSocket(two.url)
  await socket.call('subscribe', 'shared')
  await socket.value('shared', await put(one.url, 'shared', 'before'))
  redis.pause()
  const started = Date.now()
  const last = await put(one.url, 'shared', 'while it hangs')
  await until('a word about it on both', () => [one, two].every(node => /Redis cannot be reached/.test(node.output())))
  t.comment(`both have noticed after ${Date.now() - started} ms`)
  redis.resume()
  t.match(await socket.value('shared', last), { value: 'while it hangs' })
  await socket.value('shared', await put(one.url, 'shared', 'goes on'))
  t.pass('and what follows')
  socket.close()
}
