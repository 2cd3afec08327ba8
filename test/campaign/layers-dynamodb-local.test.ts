import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteItemCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand
} from '@aws-sdk/client-dynamodb-streams'
import t from 'tap'
import { javaVersion, startDynamoDBLocal } from '../../scripts/dynamodb-local.js'
import { createTable } from '../../src/dynamo/schema.js'
import { tables } from '../../src/dynamo/tables.js'
import { layerExpiry } from '../../src/services/layer-expiry.js'
import { lambdaDeletion } from '../../src/services/layer-lambda.js'
import { announceRemovals, type StreamRecord } from '../../src/services/layer-stream.js'
import { start } from '../helpers.js'
import { arn, at, publish } from '../layers-helpers.js'
import { persist, startBus, startLambda } from '../layers-standins.js'
import { anonymous } from '../outside.js'

/** The expiry path on a DynamoDB that has its own TTL and its own stream. */

const skip = javaVersion() ? false : 'DynamoDB Local needs Java, which is not installed here'

/** All records of a table's stream, again and again from where the last call ended. */
async function openStream(endpoint: string, StreamArn: string) {
  const streams = new DynamoDBStreamsClient({ ...anonymous, endpoint })
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }))
  const shards = StreamDescription?.Shards ?? []
  let iterators = await Promise.all(
    shards.map(async ({ ShardId }) => {
      const request = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' as const }
      return (await streams.send(new GetShardIteratorCommand(request))).ShardIterator
    })
  )
  return async (): Promise<StreamRecord[]> => {
    const answers = await Promise.all(
      iterators.filter(Boolean).map(ShardIterator => streams.send(new GetRecordsCommand({ ShardIterator })))
    )
    iterators = answers.map(answer => answer.NextShardIterator)
    return answers.flatMap(answer => (answer.Records ?? []) as StreamRecord[])
  }
}

t.test('TTL and stream of DynamoDB Local', { skip, timeout: 180_000 }, async t => {
  const { url: endpoint, stop } = await startDynamoDBLocal()
  t.teardown(stop)
  const client = new DynamoDBClient({ ...anonymous, endpoint })
  await createTable(client, 'layers', tables.layers)
  const started = await start(t, { domains: ['layers'], env: { DYNAMODB: endpoint, LAYER_EXPIRY_DAYS: '0.00001' } })
  await publish(started, 3)
  await publish(started, 2, { package: 'held' })
  await started.api.put('/v1/layers/eu-west-1/held/channels/lts', { version: 2 })
  const { Table } = await client.send(new DescribeTableCommand({ TableName: 'layers' }))
  const read = await openStream(endpoint, Table?.LatestStreamArn as string)
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
    source: Table?.LatestStreamLabel
  }
  for (const end = Date.now() + 120_000; Date.now() < end && expired().size < 3; await sleep(500)) {
    const news = await read()
    records.push(...news)
    t.strictSame(await announceRemovals(news, tools), [], 'the bus has all of them')
  }
  t.strictSame([...expired()].sort(), [
    'lyrVrsn#v1lyr#eu-west-1.held',
    'lyrVrsn#v1lyr#eu-west-1.requests',
    'lyrVrsn#v2lyr#eu-west-1.requests'
  ])
  t.equal(records.filter(record => record.eventName === 'REMOVE').length, 4, 'the delete by hand is in the stream')
  t.ok(bus.events.every(event => event.source === Table?.LatestStreamLabel))

  for (const event of [...bus.events, ...bus.events]) await persist(() => expireLayer(event))
  t.strictSame(lambda.deleted, [arn(1)], 'all rows name one version, which goes once')
  for (const version of [1, 2]) {
    t.match((await started.api.get(at(`/${version}`))).json(), { status: 'deleted', deletedAt: /^20/, version })
  }
  t.match((await started.api.get(at('/latest'))).json(), { version: 3 })
  t.equal((await started.api.get('/v1/layers/eu-west-1/held/2')).statusCode, 404, 'what was deleted by hand stays so')
  client.destroy()
})
