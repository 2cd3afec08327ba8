import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { createDynamo } from '../../src/dynamo/client.js'
import { createCursors } from '../../src/dynamo/cursors.js'
import { type Send, sdkSend } from '../../src/dynamo/operations.js'
import type { NewLayer } from '../../src/services/layer-values.js'
import { layersService } from '../../src/services/layers.js'
import { start } from '../helpers.js'
import { layerBody } from '../layers-helpers.js'
import { assertRace, race, roundsOf, startNodes } from '../layers-race.js'

t.test('64 publishers with 20 publishes each over 5 packages, on four nodes', async t => {
  const nodes = await startNodes(t, 4)
  const result = await race(nodes, { publishers: 64, publishes: 20, packages: 5 })
  assertRace(t, result)
  const rounds = roundsOf(nodes)
  t.ok(rounds.lost > 0, 'they did meet')
  t.comment(`${result.looks} looks at pointers and indexes, ${rounds.lost} of ${rounds.all} rounds lost`)
})

t.test('the same on one node, where they wait for their turn', async t => {
  const nodes = await startNodes(t, 1)
  assertRace(t, await race(nodes, { publishers: 64, publishes: 5, packages: 5 }))
  t.comment(`${roundsOf(nodes).all} transactions for 320 publishes`)
})

t.test('all of them on one package, on eight nodes', async t => {
  const nodes = await startNodes(t, 8)
  assertRace(t, await race(nodes, { publishers: 64, publishes: 2, packages: 1 }))
})

type Parts = { TransactItems: Record<string, { Key?: object; Item?: { pk: object; sk: object } }>[] }

/** On AWS, unlike in any local engine, a transaction is cancelled that meets another one at one of its items. */
function cancelling(send: Send): Send {
  const held = new Set<string>()
  return async (operation, input, options) => {
    if (operation !== 'TransactWriteItems') return send(operation, input, options)
    const keys = (input as Parts).TransactItems.flatMap(part => Object.values(part)).map(({ Key, Item }) =>
      JSON.stringify(Key ?? { pk: Item?.pk, sk: Item?.sk })
    )
    const CancellationReasons = keys.map(key => ({ Code: held.has(key) ? 'TransactionConflict' : 'None' }))
    if (keys.some(key => held.has(key)))
      throw new TransactionCanceledException({ message: 'cancelled', $metadata: {}, CancellationReasons })
    for (const key of keys) held.add(key)
    try {
      await sleep(5)
      return await send(operation, input, options)
    } finally {
      for (const key of keys) held.delete(key)
    }
  }
}

t.test('publishers on four nodes where transactions that meet cancel each other', async t => {
  const { raw, config } = await start(t, { domains: ['layers'] })
  const errors: (string | undefined)[] = []
  const send = cancelling(sdkSend(raw.client))
  const context = { cursors: createCursors(undefined), now: Date.now, randomBytes }
  const nodes = Array.from({ length: 4 }, () => {
    const dynamo = createDynamo(raw.client, ({ error }) => errors.push(error), send)
    return layersService(dynamo, config.tables.layers, { expiryDays: 365 }, context)
  })
  const publishes = Array.from({ length: 160 }, (_, i) =>
    nodes[i % 4]?.insertLayer(layerBody({ package: `p${i % 3}` }) as NewLayer)
  )
  const told = (await Promise.all(publishes)).map(layer => `${layer?.package} ${layer?.version}`)
  t.equal(new Set(told).size, 160, 'all have published, each another version')
  t.equal((await raw.all('layers')).length, 163)
  t.ok(errors.includes('TransactionCanceledException'), 'they did meet')
})
