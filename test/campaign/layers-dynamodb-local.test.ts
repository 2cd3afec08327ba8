import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { javaVersion, startDynamoDBLocal } from '../../scripts/dynamodb-local.js'
import { createTable } from '../../src/dynamo/schema.js'
import { tables } from '../../src/dynamo/tables.js'
import { layerExpiry } from '../../src/services/layer-expiry.js'
import { lambdaDeletion } from '../../src/services/layer-lambda.js'
import { announceRemovals, isExpiry, type StreamRecord } from '../../src/services/layer-stream.js'
import { start } from '../helpers.js'
import { arn, at, publish } from '../layers-helpers.js'
import { persist, startBus, startLambda } from '../layers-standins.js'
import { lambdaRecord, openStream } from '../layers-stream-reader.js'
import { anonymous } from '../outside.js'

/** The expiry path on a DynamoDB that has its own TTL and its own stream. */

const skip = javaVersion() ? false : 'DynamoDB Local needs java, which is not installed here'
const recording = new URL('../../../test/fixtures/layers-stream-event.json', import.meta.url)

/** The members of a record, without what they say. */
function shapeOf(record: object): string[] {
  const { dynamodb, userIdentity, ...rest } = JSON.parse(JSON.stringify(record))
  return [rest, dynamodb, userIdentity].flatMap(part => Object.keys(part).sort())
}

t.test('TTL and stream of DynamoDB Local', { skip, timeout: 180_000 }, async t => {
  const local = await startDynamoDBLocal()
  t.teardown(local.stop)
  const endpoint = local.url
  const client = new DynamoDBClient({ ...anonymous, endpoint })
  await createTable(client, 'layers', tables.layers)
  const started = await start(t, { domains: ['layers'], env: { DYNAMODB: endpoint, LAYER_EXPIRY_DAYS: '0.00001' } })
  await publish(started, 3)
  await publish(started, 2, { package: 'held' })
  await started.api.put('/v1/layers/eu-west-1/held/channels/lts', { version: 2 })
  const stream = await openStream(endpoint, client, 'layers')
  await client.send(
    new DeleteItemCommand({ TableName: 'layers', Key: { pk: { S: 'lyr#eu-west-1.held' }, sk: { S: 'lyrVrsn#v2' } } })
  )

  const bus = await startBus(t, ['refuse half', 'take and hang'])
  const lambda = await startLambda(t, [arn(1)], ['break', 'delete and hang'])
  const { restore, expireLayer } = layerExpiry({
    client,
    table: 'layers',
    now: Date.now,
    deleteLayerVersion: lambdaDeletion(lambda.clientIn)
  })
  const records: StreamRecord[] = []
  const expired = () =>
    new Set(
      bus.events.map(event => event.detail.record.dynamodb.Keys.sk?.S + String(event.detail.record.dynamodb.Keys.pk?.S))
    )
  const tools = {
    putEvents: bus.putEvents,
    restore,
    report: (reason: string) => t.fail(reason),
    source: stream.label
  }
  for (const end = Date.now() + 120_000; Date.now() < end && expired().size < 3; await sleep(500)) {
    const news = (await stream.read()) as StreamRecord[]
    records.push(...news)
    t.strictSame(await announceRemovals(news, tools), [], 'the bus has all of them')
  }
  t.strictSame([...expired()].sort(), [
    'lyrVrsn#v1lyr#eu-west-1.held',
    'lyrVrsn#v1lyr#eu-west-1.requests',
    'lyrVrsn#v2lyr#eu-west-1.requests'
  ])
  t.equal(records.filter(record => record.eventName === 'REMOVE').length, 4, 'the delete by hand is in the stream')
  t.ok(bus.events.every(event => event.source === stream.label))

  for (const event of [...bus.events, ...bus.events]) await persist(() => expireLayer(event))
  t.strictSame(lambda.deleted, [arn(1)], 'all rows name one version, which goes once')
  for (const version of [1, 2]) {
    t.match((await started.api.get(at(`/${version}`))).json(), { status: 'deleted', deletedAt: /^20/, version })
  }
  t.match((await started.api.get(at('/latest'))).json(), { version: 3 })
  t.equal((await started.api.get('/v1/layers/eu-west-1/held/2')).statusCode, 404, 'what was deleted by hand stays so')
  stream.close()
  client.destroy()

  const { Records } = JSON.parse(readFileSync(recording, 'utf8')) as { Records: StreamRecord[] }
  const [recorded, fresh] = [Records, records.map(record => lambdaRecord(record as never, stream.arn))].map(list =>
    list.find(record => isExpiry(record as StreamRecord))
  )
  t.strictSame(shapeOf(recorded as object), shapeOf(fresh as object), 'the recording is of records like these')
})
