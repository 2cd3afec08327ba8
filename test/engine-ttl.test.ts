import { setTimeout } from 'node:timers/promises'
import {
  CreateTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  PutItemCommand,
  ScanCommand,
  UpdateItemCommand,
  UpdateTimeToLiveCommand
} from '@aws-sdk/client-dynamodb'
import t from 'tap'
import type { Expired } from '../src/dynamo/engine/index.js'
import { folder, pairs, plain, start } from './engine-helpers.js'

const NOW = Date.parse('2030-01-01T00:00:00Z')
const seconds = NOW / 1000
const TableName = 'plain'
const withStream = { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' as const } }

const put = (client: DynamoDBClient, id: string, expires: number | string, more = {}) =>
  client.send(new PutItemCommand({ TableName, Item: { id: { S: id }, expires: { N: `${expires}` }, ...more } }))
const ids = async (client: DynamoDBClient) =>
  (await client.send(new ScanCommand({ TableName }))).Items?.map(item => item.id?.S).sort()
const ttl = (AttributeName: string, Enabled = true) =>
  new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName, Enabled } })

t.test('the time to live is set, described and kept', async t => {
  const path = folder(t)
  const { client, engine } = await start(t, { path })
  const missing = client.send(new DescribeTimeToLiveCommand({ TableName }))
  await t.rejects(missing, { name: 'ResourceNotFoundException' })
  await t.rejects(client.send(ttl('expires')), { name: 'ResourceNotFoundException' })
  await client.send(new CreateTableCommand(plain()))
  await t.rejects(client.send(ttl('expires', false)), { message: 'TimeToLive is already disabled' })
  await client.send(ttl('expires'))
  await t.rejects(client.send(ttl('expires')), { message: 'TimeToLive is already enabled' })
  await t.rejects(client.send(ttl('other')), {
    message: 'TimeToLive is active on a different AttributeName: current AttributeName is expires'
  })
  await engine.close()
  const again = await start(t, { path })
  const described = await again.client.send(new DescribeTimeToLiveCommand({ TableName }))
  t.strictSame(described.TimeToLiveDescription, { TimeToLiveStatus: 'ENABLED', AttributeName: 'expires' })
  await again.client.send(ttl('expires', false))
  const after = await again.client.send(new DescribeTimeToLiveCommand({ TableName }))
  t.strictSame(after.TimeToLiveDescription, { TimeToLiveStatus: 'DISABLED' })
})

t.test('a sweep deletes what has expired, and nothing else', async t => {
  const { client, engine } = await start(t, { now: () => NOW })
  await client.send(new CreateTableCommand(plain()))
  await put(client, 'old', seconds - 1)
  await put(client, 'fraction', `${seconds - 5}.5`)
  await put(client, 'renewed', seconds - 1)
  await client.send(ttl('expires'))
  await put(client, 'older', seconds - 365 * 86400)
  await put(client, 'now', seconds)
  await put(client, 'later', seconds + 1)
  await put(client, 'negative', -5)
  await put(client, 'six years', seconds - 6 * 365 * 86400)
  await put(client, 'text', 0, { expires: { S: `${seconds - 1}` } })
  await client.send(
    new UpdateItemCommand({
      TableName,
      Key: { id: { S: 'renewed' } },
      UpdateExpression: 'SET expires = :later',
      ExpressionAttributeValues: { ':later': { N: `${seconds + 60}` } }
    })
  )
  t.equal(await engine.sweep(), 3)
  t.strictSame(await ids(client), ['later', 'negative', 'now', 'renewed', 'six years', 'text'])
  t.equal(await engine.sweep(), 0)
})

t.test('index entries go with their items', async t => {
  const { client, engine } = await start(t, { now: () => NOW })
  await client.send(new CreateTableCommand(pairs('plain')))
  await client.send(ttl('expires'))
  for (let i = 0; i < 250; i++) {
    const index = { gsi1pk: { S: 'x' }, gsi1sk: { S: 'y' } }
    const expires = { N: `${seconds - 10 + (i % 2) * 100}` }
    await client.send(new PutItemCommand({ TableName, Item: { pk: { S: 'p' }, sk: { S: `${i}` }, expires, ...index } }))
  }
  t.equal(await engine.sweep(), 125)
  t.equal((await client.send(new ScanCommand({ TableName }))).Count, 125)
  t.equal((await client.send(new ScanCommand({ TableName, IndexName: 'gsi1' }))).Count, 125)
})

t.test('removals are told to listeners until they take them, restarts included', async t => {
  const path = folder(t)
  const options = { path, now: () => NOW }
  const first = await start(t, options)
  await first.client.send(new CreateTableCommand({ ...plain(), ...withStream }))
  await first.client.send(ttl('expires'))
  await put(first.client, 'a', seconds - 1, { bytes: { B: Buffer.from('é') } })
  let tries = 0
  const stop = first.engine.onExpired(TableName, async () => {
    tries++
    throw new Error('not now')
  })
  t.equal(await first.engine.sweep(), 1)
  t.equal(await first.engine.sweep(), 0)
  t.equal(tries, 2, 'the same record again')
  stop()
  await first.engine.close()
  const second = await start(t, options)
  const heard: Expired[] = []
  second.engine.onExpired(TableName, async records => {
    heard.push(...records)
  })
  await second.engine.sweep()
  await second.engine.sweep()
  t.equal(heard.length, 1, 'once taken, it is gone')
  t.match(heard[0], {
    eventID: /^[0-9a-f]{32}$/,
    eventName: 'REMOVE',
    tableName: TableName,
    userIdentity: { type: 'Service', principalId: 'dynamodb.amazonaws.com' },
    dynamodb: {
      Keys: { id: { S: 'a' } },
      OldImage: { id: { S: 'a' }, expires: { N: `${seconds - 1}` }, bytes: { B: Buffer.from('é') } },
      ApproximateCreationDateTime: seconds,
      StreamViewType: 'NEW_AND_OLD_IMAGES'
    }
  })
})

t.test('removals of a table without a stream are not kept; those of a day ago are forgotten', async t => {
  let now = NOW
  const { client, engine } = await start(t, { now: () => now })
  await client.send(new CreateTableCommand(plain('quiet')))
  await client.send(new CreateTableCommand({ ...plain(), ...withStream }))
  for (const TableName of ['quiet', 'plain']) {
    const TimeToLiveSpecification = { AttributeName: 'expires', Enabled: true }
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }))
    await client.send(new PutItemCommand({ TableName, Item: { id: { S: 'a' }, expires: { N: `${seconds - 1}` } } }))
  }
  t.equal(await engine.sweep(), 2)
  now += 25 * 60 * 60 * 1000
  await engine.sweep()
  const heard: Expired[] = []
  for (const name of ['quiet', 'plain']) engine.onExpired(name, async records => void heard.push(...records))
  await engine.sweep()
  t.strictSame(heard, [])
})

t.test('the sweeper sweeps by itself', async t => {
  const { client, engine } = await start(t, {})
  await client.send(new CreateTableCommand({ ...plain(), ...withStream }))
  await client.send(ttl('expires'))
  const heard: Expired[] = []
  engine.onExpired(TableName, async records => void heard.push(...records))
  engine.startSweeper(10)
  await put(client, 'a', Math.floor(Date.now() / 1000) - 2)
  while (heard.length === 0) await setTimeout(5)
  t.equal(heard.length, 1)
})
