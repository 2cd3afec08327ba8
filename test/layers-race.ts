import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { createTable } from '../src/dynamo/schema.js'
import { tables } from '../src/dynamo/tables.js'
import { connect, start as startEngine } from './engine-helpers.js'
import { type Started, start } from './helpers.js'
import { layerBody } from './layers-helpers.js'
import { outsideEndpoint } from './outside.js'

export interface Race {
  publishers: number
  publishes: number
  packages: number
}

const nameOf = (i: number) => `package-${i}`

/** An app that reaches its engine through a socket: in process, a call would be over before the next begins. */
export async function startApart(t: Test): Promise<Started> {
  if (outsideEndpoint()) return start(t, { domains: ['layers'] })
  const { engine } = await startEngine(t)
  const { url } = await engine.listen(0)
  await createTable(connect(engine), 'layers', tables.layers)
  return start(t, { domains: ['layers'], env: { DYNAMODB: url } })
}

/** How often a publisher lost a round. */
export const lostRounds = ({ seen }: Started) =>
  seen.filter(({ error }) => error === 'TransactionCanceledException').length

/**
 * Publishers at once, and a reader who looks at the pointer and the index throughout. Gives the versions that each
 * package's publishers were told, and all that the reader saw and should not have.
 */
export async function race({ api, raw }: Started, { publishers, publishes, packages }: Race) {
  const versions = new Map<string, number[]>()
  const wrong: string[] = []
  let running = true

  async function publisher(id: number): Promise<void> {
    for (let i = 0; i < publishes; i++) {
      const name = nameOf((id + i) % packages)
      const response = await api.post('/v1/layers', layerBody({ package: name, packageVersion: `${id}.${i}` }))
      if (response.statusCode !== 201) wrong.push(`publisher ${id}: ${response.statusCode} ${response.body}`)
      else versions.set(name, [...(versions.get(name) ?? []), response.json().version])
    }
  }

  /** Each look must not show an older version than the look before: pointer, index, pointer, and so on. */
  async function reader(name: string): Promise<number> {
    let looks = 0
    let seen = 0
    const see = (what: string, version: number) => {
      if (version < seen) wrong.push(`${name}: ${what} went back from ${seen} to ${version}`)
      seen = version
      looks++
    }
    while (running) {
      // Calls in process need no input or output: without a pause the reader would leave no time for timers.
      await pause(1)
      const pointer = await api.get(`/v1/layers/eu-west-1/${name}/latest`)
      if (pointer.statusCode === 404 && seen === 0) continue
      const index = await api.get(`/v1/packages/${name}/layers`)
      if (pointer.statusCode !== 200 || index.statusCode !== 200) {
        wrong.push(`${name}: the reader got ${pointer.body} and ${index.body}`)
        continue
      }
      see('the pointer', pointer.json().version)
      const { items } = index.json()
      if (items.length !== 1) wrong.push(`${name}: ${items.length} versions are the latest`)
      see('the index', items[0]?.version ?? 0)
    }
    return looks
  }

  const names = Array.from({ length: packages }, (_, i) => nameOf(i))
  const readers = names.map(reader)
  await Promise.all(Array.from({ length: publishers }, (_, id) => publisher(id)))
  running = false
  const looks = (await Promise.all(readers)).reduce((sum, count) => sum + count, 0)
  return { versions, wrong, looks, rows: await raw.all('layers'), total: publishers * publishes }
}

/** What must hold after a race. */
export function assertRace(t: Test, { versions, wrong, rows, total }: Awaited<ReturnType<typeof race>>): void {
  t.strictSame(wrong, [])
  let published = 0
  for (const [name, told] of versions) {
    const count = told.length
    const all = Array.from({ length: count }, (_, i) => i + 1)
    published += count
    t.strictSame(
      [...told].sort((a, b) => a - b),
      all,
      `${name}: no gaps and no duplicates`
    )
    const own = rows.filter(row => row.pckg === name)
    const versionRows = own.filter(row => row.sk !== 'lyrVrsn0#')
    t.equal(versionRows.length, count, `${name}: a row for each`)
    t.strictSame(
      versionRows.filter(row => row.dplySts === 'latest').map(row => row.lyrVrsn),
      [count]
    )
    t.equal(versionRows.filter(row => row.dplySts === 'deprecated' && row.exDt !== undefined).length, count - 1)
    t.strictSame(
      own.filter(row => row.sk === 'lyrVrsn0#').map(row => row.lyrVrsn),
      [count],
      `${name}: the pointer`
    )
  }
  t.equal(published, total)
}
