import { randomBytes } from 'node:crypto'
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { createDynamo } from '../src/dynamo/client.js'
import { createCursors } from '../src/dynamo/cursors.js'
import { type Operation, type Send, sdkSend } from '../src/dynamo/operations.js'
import type { NewLayer } from '../src/services/layer-values.js'
import { layersService } from '../src/services/layers.js'
import { start } from './helpers.js'
import { layerBody } from './layers-helpers.js'

/** A registry on a DynamoDB whose next transactions are cancelled for the given reasons. */
async function begin(t: Parameters<typeof start>[0], ...cancellations: string[][]) {
  const { raw, config } = await start(t, { domains: ['layers'] })
  const passOn = sdkSend(raw.client)
  const sent: Operation[] = []
  const send: Send = async (operation, input, options) => {
    sent.push(operation)
    const codes = operation === 'TransactWriteItems' ? cancellations.shift() : undefined
    if (!codes) return passOn(operation, input, options)
    const CancellationReasons = codes.map(Code => ({ Code }))
    throw new TransactionCanceledException({ message: 'cancelled', $metadata: {}, CancellationReasons })
  }
  const context = { cursors: createCursors(undefined), now: Date.now, randomBytes }
  const dynamo = createDynamo(raw.client, () => {}, send)
  const service = layersService(dynamo, config.tables.layers, { expiryDays: 365 }, context)
  const publish = () => service.insertLayer(layerBody() as NewLayer)
  return { sent, publish }
}

for (const codes of [
  ['TransactionConflict', 'None'],
  ['ConditionalCheckFailed', 'TransactionConflict'],
  ['TransactionConflict', 'ConditionalCheckFailed']
]) {
  t.test(`a transaction that met another is sent again: ${codes}`, async t => {
    const { sent, publish } = await begin(t, codes)
    t.match(await publish(), { version: 1 })
    t.strictSame(sent, ['GetItem', 'TransactWriteItems', 'TransactWriteItems'])
    t.match(await publish(), { version: 2 })
  })
}

t.test('a transaction for which there was no room is not the caller’s fault', async t => {
  const { publish } = await begin(t, ['ConditionalCheckFailed', 'ThrottlingError'])
  await t.rejects(publish(), { code: 'database-unavailable', status: 503 })
  t.match(await publish(), { version: 1 })
})
