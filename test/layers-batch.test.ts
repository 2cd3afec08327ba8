import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { Dynamo } from '../src/dynamo/client.js'
import { createCursors } from '../src/dynamo/cursors.js'
import { layersService } from '../src/services/layers.js'
import { start } from './helpers.js'
import { publish, REGION } from './layers-helpers.js'

type BatchGet = Record<string, { Keys: object[] }>

/** DynamoDB as it is when it has little room: of each batch it answers the first half only. */
function halving(dynamo: Dynamo): Dynamo & { batches: number[] } {
  const batches: number[] = []
  return {
    ...dynamo,
    batches,
    async request(operation, input, options) {
      const [[table, asked] = []] = Object.entries((input.RequestItems ?? {}) as BatchGet)
      if (operation !== 'BatchGetItem' || !table || !asked) return dynamo.request(operation, input, options)
      const { Keys } = asked
      batches.push(Keys.length)
      const half = Math.ceil(Keys.length / 2)
      const RequestItems = { [table]: { ...asked, Keys: Keys.slice(0, half) } }
      const output = await dynamo.request(operation, { ...input, RequestItems }, options)
      const rest = Keys.slice(half)
      return { ...output, UnprocessedKeys: rest.length ? { [table]: { Keys: rest } } : {} }
    }
  }
}

t.test('versions that DynamoDB leaves unprocessed are asked for again', async t => {
  const started = await start(t, { domains: ['layers'] })
  await publish(started, 12)
  const dynamo = halving(started.database.dynamo('layers'))
  const context = { cursors: createCursors(undefined), now: Date.now, randomBytes }
  const service = layersService(dynamo, started.config.tables.layers, { expiryDays: 365 }, context)
  const { items, cursor } = await service.listLayerVersions(REGION, 'requests', { limit: 10 })
  t.strictSame(dynamo.batches, [10, 5, 2, 1])
  t.strictSame(
    items.map(item => item.version),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]
  )
  t.type(cursor, 'string')
})
