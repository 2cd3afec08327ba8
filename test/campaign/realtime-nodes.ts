import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openSocket, until } from '../live-helpers.js'
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

async function active(url: string, name: string): Promise<number> {
  const response = await fetch(`${url}/v1/states/${name}/subscriptions?limit=100`)
  return ((await response.json()) as { items: unknown[] }).items.length
}

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
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket(dies.url)))
  await Promise.all(sockets.map(socket => socket.call('subscribe', 'shared')))
  for (const socket of sockets) await socket.value('shared', since)
  await sleep(ttl * 1000 + 1000)
  t.equal(await active(stays.url, 'shared'), count, 'a heartbeat keeps them beyond one ttl')
  await dies.kill('SIGKILL')
  const died = Date.now()
  const newest = await put(stays.url, 'shared', 'after')
  await until('no active subscriptions', async () => (await active(stays.url, 'shared')) === 0)
  const took = Date.now() - died
  t.ok(took < (ttl + 2) * 1000, `nothing was active ${took} ms after the kill`)
  const again = await openSocket(stays.url)
  await again.call('subscribe', 'shared', { since })
  t.match(await again.value('shared', newest), { value: 'after' }, 'who comes back gets what is newer')
  again.close()
}
