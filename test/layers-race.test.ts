import { randomBytes } from 'node:crypto'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Dynamo } from '../src/dynamo/client.js'
import { createCursors } from '../src/dynamo/cursors.js'
import type { NewLayer } from '../src/services/layer-values.js'
import { layersService } from '../src/services/layers.js'
import { start } from './helpers.js'
import { at, layerBody, publish, REGION } from './layers-helpers.js'
import { assertRace, race, roundsOf, startNodes } from './layers-race.js'

t.test('ten publishers of one package get ten versions', async t => {
  const nodes = await startNodes(t, 10)
  const result = await race(nodes, { publishers: 10, publishes: 1, packages: 1 })
  assertRace(t, result)
  t.ok(result.looks > 0)
  t.ok(roundsOf(nodes).lost > 0, 'they did meet')
})

t.test('publishers of several packages do not get into each other’s way', async t => {
  assertRace(t, await race(await startNodes(t, 3), { publishers: 12, publishes: 4, packages: 3 }))
})

t.test('publishers on one node wait for their turn instead of racing', async t => {
  const started = await start(t, { domains: ['layers'] })
  const dynamo = started.database.dynamo('layers')
  let open = () => {}
  const gate = new Promise<void>(done => {
    open = done
  })
  const sent: string[] = []
  const gated: Dynamo['request'] = async (operation, input, options) => {
    sent.push(operation)
    if (operation === 'TransactWriteItems') await gate
    return dynamo.request(operation, input, options)
  }
  const send: Dynamo['send'] = (command, options) => gated(command.clientCommand.schema[2], command.input, options)
  const context = { cursors: createCursors(undefined), now: Date.now, randomBytes }
  const name = started.config.tables.layers
  const service = layersService({ ...dynamo, request: gated, send }, name, { expiryDays: 365 }, context)

  const publishes = Array.from({ length: 4 }, () => service.insertLayer(layerBody() as NewLayer))
  const other = service.insertLayer(layerBody({ package: 'other' }) as NewLayer)
  while (!sent.includes('TransactWriteItems')) await setImmediate()
  await setImmediate()
  t.equal(sent.filter(operation => operation === 'GetItem').length, 2, 'one publisher of each package has begun')
  open()
  t.strictSame(
    (await Promise.all(publishes)).map(({ version }) => version),
    [1, 2, 3, 4],
    'first come, first served'
  )
  t.equal((await other).version, 1)
  t.equal(sent.length, 10, 'two requests each: none lost a round')
})

t.test('what changes between the look of a conditional write and the write is not written over', async t => {
  const started = await start(t, { domains: ['layers'] })
  const { api, raw } = started
  const dynamo = started.database.dynamo('layers')
  let meanwhile: (() => Promise<unknown>) | undefined
  const interrupted: Dynamo['request'] = async (operation, input, options) => {
    const change = operation === 'GetItem' ? undefined : meanwhile
    if (change) meanwhile = undefined
    await change?.()
    return dynamo.request(operation, input, options)
  }
  const send: Dynamo['send'] = (command, options) =>
    interrupted(command.clientCommand.schema[2], command.input, options)
  const context = { cursors: createCursors(undefined), now: Date.now, randomBytes }
  const name = started.config.tables.layers
  const service = layersService({ ...dynamo, request: interrupted, send }, name, { expiryDays: 365 }, context)

  await publish(started, 3)
  await api.put(at('/channels/lts'), { version: 2 })
  const tagOf = async (path: string) => (await api.get(at(path))).headers.etag as string
  const end = (year: number) => () => api.patch(at('/1'), { expiresAt: `${year}-01-01T00:00:00Z` })
  const point = (channel: string, version: number) => () => api.put(at(`/channels/${channel}`), { version })
  const foreign = async () => {
    const row = await raw.get('layers', `lyr#${REGION}.requests`, 'lyrVrsn#v3')
    await raw.put('layers', { ...row, exDt: 4_102_444_800 })
  }
  type Write = (ifMatch: string) => Promise<unknown>
  const own = [REGION, 'requests'] as const
  const cases: [string, () => Promise<unknown>, Write][] = [
    ['/1', end(2090), ifMatch => service.updateExpiry(...own, 1, { expiresAt: null }, { ifMatch })],
    ['/1', end(2091), ifMatch => service.deleteLayer(...own, 1, { ifMatch })],
    ['/1', point('a', 1), ifMatch => service.updateExpiry(...own, 1, { expiresAt: null }, { ifMatch })],
    ['/1', point('b', 1), ifMatch => service.updateExpiry(...own, 1, { expiresAt: null }, { ifMatch })],
    ['/3', foreign, ifMatch => service.deleteLayer(...own, 3, { ifMatch, withdraw: true })],
    ['/channels/lts', point('lts', 2), ifMatch => service.putChannel(...own, 'lts', { version: 3 }, { ifMatch })],
    ['/channels/lts', point('lts', 2), ifMatch => service.deleteChannel(...own, 'lts', { ifMatch })]
  ]
  for (const [path, change, write] of cases) {
    const tag = await tagOf(path)
    let changed = ''
    meanwhile = async () => {
      // Times of channels are told in milliseconds, and the change is to have another one.
      await sleep(2)
      await change()
      changed = await tagOf(path)
    }
    await t.rejects(write(tag), { code: 'precondition-failed' }, path)
    t.not(changed, tag)
    t.equal(await tagOf(path), changed, 'the change is what stands')
  }
})
