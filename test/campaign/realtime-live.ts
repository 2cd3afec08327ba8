import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { listen, openSilent, openSocket, until } from '../live-helpers.js'

/** Many sockets on one state, many writers: versions rise on each, and each ends on the last one. */
export async function fanOut(t: Test, counts: { sockets: number; writers: number; writes: number }): Promise<void> {
  const { url, api, metrics } = await listen(t)
  const sockets = await Promise.all(Array.from({ length: counts.sockets }, () => openSocket(url)))
  await Promise.all(sockets.map(socket => socket.call('subscribe', 'one')))
  let left = counts.writes
  const write = async () => {
    while (left-- > 0) await api.put('/v1/states/one', { value: { left } })
  }
  const started = Date.now()
  await Promise.all(Array.from({ length: counts.writers }, write))
  const written = Date.now()
  for (const socket of sockets) await socket.value('one', counts.writes)
  t.comment(`${counts.writes} writes in ${written - started} ms, the last arrived ${Date.now() - written} ms later`)
  const seen = sockets.map(socket => socket.values('one').map(({ version }) => version as number))
  t.ok(
    seen.every(versions => versions.every((version, i) => i === 0 || version > (versions[i - 1] as number))),
    'versions rise on every socket'
  )
  t.ok(
    seen.every(versions => versions.at(-1) === counts.writes),
    'every socket ends on the last version'
  )
  t.comment(`versions seen by a socket: ${Math.min(...seen.map(v => v.length))} at least`)
  const lag = await metrics.live.lag.get()
  const total = (name: string) => lag.values.find(({ metricName }) => metricName?.endsWith(name))?.value ?? 0
  t.comment(`mean lag ${((total('_sum') / total('_count')) * 1000).toFixed(1)} ms over ${total('_count')} messages`)
}

/** A socket that stops reading: it costs one value on its way, and its neighbours get every value at once. */
export async function stall(t: Test, counts: { writes: number; bytes: number }): Promise<void> {
  const { app, url, api } = await listen(t)
  const reader = await openSocket(url)
  await reader.call('subscribe', 'big')
  const known = new Set(app.websocketServer.clients)
  const silent = await openSilent(url, 'big')
  await until(
    'both subscriptions',
    async () => (await api.get('/v1/states/big/subscriptions')).json().items.length === 2
  )
  const [stalled] = [...app.websocketServer.clients].filter(client => !known.has(client))
  if (!stalled) throw new Error('The silent socket is not there')

  let held = 0
  let slowest = 0
  for (let i = 1; i <= counts.writes; i++) {
    await api.put('/v1/states/big', { value: `${i}:${'x'.repeat(counts.bytes)}` })
    const written = Date.now()
    await reader.value('big', i)
    slowest = Math.max(slowest, Date.now() - written)
    held = Math.max(held, stalled.bufferedAmount)
  }
  t.comment(`${held} bytes held for the silent socket at most, the reader waited ${slowest} ms at most`)
  t.ok(held > 0, 'the silent socket did stall')
  t.ok(held < 2 * counts.bytes, 'one value is held for it, not a backlog')
  let text = ''
  silent.on('data', chunk => {
    text = (text + chunk.toString('latin1')).slice(-counts.bytes - 200)
  })
  silent.resume()
  await until('the newest value on the silent socket', () => text.includes(`"version":${counts.writes}`))
  t.pass('once it reads again, it gets the newest')
  silent.destroy()
  await sleep(50)
}
