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

const NAMES = ['big/1', 'big/2', 'big/3']

/**
 * A socket that stops reading: one value is on its way to it and one waits for each state, however much is written,
 * and its neighbour gets every value as soon as before.
 */
export async function stall(t: Test, counts: { writes: number; bytes: number }): Promise<void> {
  const { app, url, api } = await listen(t)
  const reader = await openSocket(url)
  for (const name of NAMES) await reader.call('subscribe', name)
  const versions = new Map<string, number>()
  /** Writes a value and gives the milliseconds until the reader has it. */
  const write = async (i: number) => {
    const name = NAMES[i % NAMES.length] as string
    const version = (versions.get(name) ?? 0) + 1
    versions.set(name, version)
    const value = `${name}@${version}:${'x'.repeat(counts.bytes)}`
    await api.put(`/v1/states/${encodeURIComponent(name)}`, { value })
    const written = performance.now()
    await reader.value(name, version)
    return performance.now() - written
  }
  const waiting = async () => Number(/^quintet_live_waiting (\d+)$/m.exec((await api.get('/metrics')).body)?.[1])

  const before: number[] = []
  for (let i = 0; i < counts.writes / 4; i++) before.push(await write(i))
  const known = new Set(app.websocketServer.clients)
  const silent = await openSilent(url, NAMES)
  const listed = async (name: string) =>
    (await api.get(`/v1/states/${encodeURIComponent(name)}/subscriptions`)).json().items.length === 2
  for (const name of NAMES) await until('both subscriptions', () => listed(name))
  const [stalled] = [...app.websocketServer.clients].filter(client => !known.has(client))
  if (!stalled) throw new Error('The silent socket is not there')

  const during: number[] = []
  let held = 0
  let waited = 0
  for (let i = 0; i < counts.writes; i++) {
    during.push(await write(i))
    held = Math.max(held, stalled.bufferedAmount)
    waited = Math.max(waited, await waiting())
  }
  const median = (times: number[]) => (times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0).toFixed(1)
  t.comment(`${held} bytes held for the silent socket at most, ${waited} values waiting`)
  t.comment(
    `the reader had a value after ${median(before)} ms alone, ${median(during)} ms beside the silent one (medians)`
  )
  t.ok(held > 0, 'the silent socket did stall')
  t.ok(held < 2 * counts.bytes, 'one value is on its way to it, not a backlog')
  t.equal(waited, NAMES.length, 'and one waits for each state')

  let text = ''
  silent.on('data', chunk => {
    text += chunk.toString('latin1')
  })
  silent.resume()
  for (const [name, version] of versions) {
    await until(`the newest of ${name} on the silent socket`, () => text.includes(`${name}@${version}:`))
  }
  t.pass('once it reads again, it gets the newest of each')
  await until('nothing that waits', async () => (await waiting()) === 0)
  silent.destroy()
  await sleep(50)
}
