import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { Dynamo } from '../src/dynamo/client.js'
import { createCursors } from '../src/dynamo/cursors.js'
import type { NewLayer } from '../src/services/layer-values.js'
import { layersService } from '../src/services/layers.js'
import { start } from './helpers.js'
import { layerBody } from './layers-helpers.js'
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
