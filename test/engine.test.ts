import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  GetItemCommand,
  ListTablesCommand,
  ListTagsOfResourceCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateItemCommand,
  UpdateTableCommand
} from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { openDatabase } from '../src/dynamo/engine/database.js'
import { keys } from '../src/dynamo/engine/rows.js'
import type { Table } from '../src/dynamo/engine/types.js'
import { connect, folder, isLocal, pairs, plain, start } from './engine-helpers.js'

const item = (pk: string, sk: string, more = {}) => ({ pk: { S: pk }, sk: { S: sk }, ...more })

t.test('dynalite is the version that the engine is built on', async t => {
  const { version } = createRequire(import.meta.url)('dynalite/package.json')
  t.equal(
    version,
    '4.0.0',
    'src/dynamo/engine uses inner modules of dynalite 4.0.0: read them anew before changing the version'
  )
})

t.test('a table can be used as soon as it is created', async t => {
  const { client } = await start(t)
  for (let i = 0; i < 50; i++) {
    const TableName = `table-${i}`
    await client.send(new CreateTableCommand(plain(TableName)))
    await client.send(new PutItemCommand({ TableName, Item: { id: { S: 'a' } } }))
  }
  const { Table } = await client.send(new DescribeTableCommand({ TableName: 'table-7' }))
  t.equal(Table?.TableStatus, 'ACTIVE')
  const { TableNames, LastEvaluatedTableName } = await client.send(new ListTablesCommand({ Limit: 20 }))
  t.equal(TableNames?.length, 20)
  t.ok(LastEvaluatedTableName)
})

t.test('items are put, read, updated, queried, scanned, deleted', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(pairs()))
  const TableName = 'pairs'
  for (let i = 0; i < 5; i++) {
    const index = { gsi1pk: { S: 'all' }, gsi1sk: { S: `${9 - i}` } }
    await client.send(new PutItemCommand({ TableName, Item: item('a', `${i}`, { n: { N: `${i}` }, ...index }) }))
  }
  const { Item } = await client.send(new GetItemCommand({ TableName, Key: item('a', '3') }))
  t.strictSame(Item?.n, { N: '3' })
  const { Attributes } = await client.send(
    new UpdateItemCommand({
      TableName,
      Key: item('a', '3'),
      UpdateExpression: 'SET n = n + :one, gsi1sk = :first',
      ExpressionAttributeValues: { ':one': { N: '1' }, ':first': { S: '0' } },
      ReturnValues: 'ALL_NEW'
    })
  )
  t.strictSame(Attributes?.n, { N: '4' })
  await client.send(new DeleteItemCommand({ TableName, Key: item('a', '0') }))
  const query = {
    TableName,
    KeyConditionExpression: 'pk = :a AND sk >= :from',
    ExpressionAttributeValues: { ':a': { S: 'a' }, ':from': { S: '2' } }
  }
  const table = await client.send(new QueryCommand({ ...query, ScanIndexForward: false }))
  t.strictSame(
    table.Items?.map(found => found.sk?.S),
    ['4', '3', '2']
  )
  const index = await client.send(
    new QueryCommand({
      TableName,
      IndexName: 'gsi1',
      KeyConditionExpression: 'gsi1pk = :all',
      FilterExpression: 'n <> :two',
      ExpressionAttributeValues: { ':all': { S: 'all' }, ':two': { N: '2' } }
    })
  )
  t.strictSame(
    index.Items?.map(found => found.sk?.S),
    ['3', '4', '1']
  )
  t.equal(index.ScannedCount, 4)
  const scan = await client.send(new ScanCommand({ TableName }))
  t.equal(scan.Count, 4)
})

t.test('a query for keys that nothing can have is refused', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(pairs()))
  const query = (KeyConditionExpression: string, values: Record<string, string>, IndexName?: string) =>
    client.send(
      new QueryCommand({
        TableName: 'pairs',
        IndexName,
        KeyConditionExpression,
        ExpressionAttributeValues: Object.fromEntries(Object.entries(values).map(([name, S]) => [name, { S }]))
      })
    )
  const refused = (asked: Promise<unknown>, message: RegExp) =>
    t.rejects(asked, { name: 'ValidationException', message })
  const long = 'x'.repeat(1025)
  await refused(query('pk = :pk', { ':pk': '' }), /cannot contain an empty string value. Key: pk$/)
  await refused(query('pk = :pk AND begins_with(sk, :sk)', { ':pk': 'a', ':sk': '' }), /empty string value. Key: sk$/)
  await refused(query('gsi1pk = :pk', { ':pk': '' }, 'gsi1'), /IndexName: gsi1, IndexKey: gsi1pk$/)
  await refused(query('pk = :pk AND sk > :sk', { ':pk': 'a', ':sk': long }), /size limit of 1024 bytes$/)
  await refused(query('pk = :pk AND sk BETWEEN :a AND :b', { ':pk': 'a', ':a': 'a', ':b': long }), /1024 bytes$/)
  t.equal((await query('pk = :pk AND sk > :sk', { ':pk': 'a', ':sk': long.slice(1) })).Count, 0)
})

t.test('batches write and read many items', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(pairs()))
  const puts = Array.from({ length: 25 }, (_, i) => ({ PutRequest: { Item: item('b', `${i}`) } }))
  await client.send(new BatchWriteItemCommand({ RequestItems: { pairs: puts } }))
  await client.send(
    new BatchWriteItemCommand({ RequestItems: { pairs: [{ DeleteRequest: { Key: item('b', '7') } }] } })
  )
  const Keys = Array.from({ length: 25 }, (_, i) => item('b', `${i}`))
  const { Responses } = await client.send(new BatchGetItemCommand({ RequestItems: { pairs: { Keys } } }))
  t.equal(Responses?.pairs?.length, 24)
})

t.test('tables are tagged, changed and deleted with all they hold', { skip: isLocal && 'it has no tags' }, async t => {
  const { client } = await start(t)
  const { TableDescription } = await client.send(new CreateTableCommand(pairs()))
  const ResourceArn = TableDescription?.TableArn
  const tags = ['a', 'é', '日'].map(Key => ({ Key, Value: `${Key}!` }))
  await client.send(new TagResourceCommand({ ResourceArn, Tags: tags }))
  await client.send(new UntagResourceCommand({ ResourceArn, TagKeys: ['a'] }))
  t.strictSame((await client.send(new ListTagsOfResourceCommand({ ResourceArn }))).Tags, tags.slice(1))
  await client.send(
    new UpdateTableCommand({
      TableName: 'pairs',
      BillingMode: 'PROVISIONED',
      ProvisionedThroughput: { ReadCapacityUnits: 3, WriteCapacityUnits: 4 },
      GlobalSecondaryIndexUpdates: [
        { Update: { IndexName: 'gsi1', ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } } }
      ]
    })
  )
  const { Table } = await client.send(new DescribeTableCommand({ TableName: 'pairs' }))
  t.match(Table, { TableStatus: 'ACTIVE', ProvisionedThroughput: { ReadCapacityUnits: 3, WriteCapacityUnits: 4 } })
  await client.send(
    new PutItemCommand({ TableName: 'pairs', Item: item('a', 'a', { gsi1pk: { S: 'x' }, gsi1sk: { S: 'y' } }) })
  )
  await client.send(new DeleteTableCommand({ TableName: 'pairs' }))
  await t.rejects(client.send(new DescribeTableCommand({ TableName: 'pairs' })), { name: 'ResourceNotFoundException' })
  await client.send(new CreateTableCommand(pairs()))
  t.equal((await client.send(new ScanCommand({ TableName: 'pairs' }))).Count, 0)
  t.equal((await client.send(new ScanCommand({ TableName: 'pairs', IndexName: 'gsi1' }))).Count, 0)
})

t.test('a stream that was asked for is described', async t => {
  const { client } = await start(t)
  const StreamSpecification = { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' as const }
  await client.send(new CreateTableCommand({ ...plain(), StreamSpecification }))
  const { Table } = await client.send(new DescribeTableCommand({ TableName: 'plain' }))
  t.match(Table, { StreamSpecification, LatestStreamArn: /^arn:aws:dynamodb:.+:table\/plain\/stream\/20/ })
  const off = new UpdateTableCommand({ TableName: 'plain', StreamSpecification: { StreamEnabled: false } })
  await client.send(off)
  await t.rejects(client.send(off), { name: 'ValidationException' })
  const after = await client.send(new DescribeTableCommand({ TableName: 'plain' }))
  t.notOk(after.Table?.StreamSpecification)
})

t.test('a folder keeps what was written, and belongs to one engine', async t => {
  const path = folder(t)
  const { engine, client } = await start(t, { path })
  await client.send(new CreateTableCommand(plain()))
  await client.send(new PutItemCommand({ TableName: 'plain', Item: { id: { S: 'a' } } }))
  await t.rejects(start(t, { path }), { message: /in use by another process/ })
  await engine.close()
  await engine.close()
  const again = await start(t, { path })
  const { Item } = await again.client.send(new GetItemCommand({ TableName: 'plain', Key: { id: { S: 'a' } } }))
  t.ok(Item)
})

t.test('another process is refused a folder in use', async t => {
  const path = folder(t)
  await start(t, { path })
  const script = fileURLToPath(new URL('./engine-worker.js', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, path, '0'], { env: {}, encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, /The folder .+ is in use by another process/)
})

t.test('tables that a killed process left half made are mended', async t => {
  const path = folder(t)
  const first = await start(t, { path })
  const names = ['creating', 'updating', 'deleting']
  for (const name of names) {
    await first.client.send(new CreateTableCommand(pairs(name)))
    const Item = item('a', 'b', { gsi1pk: { S: 'x' }, gsi1sk: { S: 'y' } })
    await first.client.send(new PutItemCommand({ TableName: name, Item }))
  }
  await first.engine.close()
  const db = await openDatabase(path)
  for (const name of names) {
    const table = { ...(db.get(keys.table(name)) as Table), TableStatus: name.toUpperCase() }
    for (const index of table.GlobalSecondaryIndexes ?? []) index.IndexStatus = name.toUpperCase()
    await db.commit([{ type: 'put', key: keys.table(name), value: table }])
  }
  await db.close()
  const { client } = await start(t, { path })
  t.strictSame((await client.send(new ListTablesCommand({}))).TableNames, ['creating', 'updating'])
  for (const TableName of ['creating', 'updating']) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }))
    t.match(Table, { TableStatus: 'ACTIVE', GlobalSecondaryIndexes: [{ IndexStatus: 'ACTIVE' }] })
    t.equal((await client.send(new ScanCommand({ TableName }))).Count, 1)
  }
  await client.send(new CreateTableCommand(pairs('deleting')))
  t.equal((await client.send(new ScanCommand({ TableName: 'deleting' }))).Count, 0, 'nothing is left of it')
})

t.test('two engines in one process do not see each other', async t => {
  const one = await start(t)
  const other = await start(t)
  await one.client.send(new CreateTableCommand(plain()))
  t.strictSame((await other.client.send(new ListTablesCommand({}))).TableNames, [])
})

t.test('a client over HTTP gets the same answers', async t => {
  const { engine } = await start(t, {})
  const { url } = await engine.listen(0)
  const client = connect(url)
  t.teardown(() => client.destroy())
  await client.send(new CreateTableCommand(plain()))
  await client.send(new PutItemCommand({ TableName: 'plain', Item: { id: { S: 'é' } } }))
  t.strictSame((await client.send(new ScanCommand({ TableName: 'plain' }))).Items, [{ id: { S: 'é' } }])
})
