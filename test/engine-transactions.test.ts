import {
  CreateTableCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactGetItemsCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand
} from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { folder, isLocal, pairs, plain, start } from './engine-helpers.js'

const TableName = 'plain'
const key = (id: string) => ({ id: { S: id } })
const put = (id: string, more = {}): TransactWriteItem => ({ Put: { TableName, Item: { ...key(id), ...more } } })
const transact = (client: DynamoDBClient, items: TransactWriteItem[], more = {}) =>
  client.send(new TransactWriteItemsCommand({ TransactItems: items, ...more }))
const get = async (client: DynamoDBClient, id: string) =>
  (await client.send(new GetItemCommand({ TableName, Key: key(id) }))).Item

const FAILED = 'The conditional request failed'
const exists = { ConditionExpression: 'attribute_exists(id)' }
const isNew = { ConditionExpression: 'attribute_not_exists(id)' }

t.test('a transaction writes all its items', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  await client.send(new CreateTableCommand(pairs()))
  await transact(client, [put('gone'), put('checked'), put('counted', { n: { N: '1' } })])
  await transact(client, [
    { Delete: { TableName, Key: key('gone'), ...exists } },
    { ConditionCheck: { TableName, Key: key('checked'), ...exists } },
    {
      Update: {
        TableName,
        Key: key('counted'),
        UpdateExpression: 'ADD n :two',
        ExpressionAttributeValues: { ':two': { N: '2' } }
      }
    },
    {
      Put: {
        TableName: 'pairs',
        Item: { pk: { S: 'p' }, sk: { S: 's' }, gsi1pk: { S: 'i' }, gsi1sk: { S: 'j' } }
      }
    }
  ])
  t.notOk(await get(client, 'gone'))
  t.strictSame((await get(client, 'checked'))?.id, { S: 'checked' }, 'a check changes nothing')
  t.strictSame((await get(client, 'counted'))?.n, { N: '3' })
  const { Count } = await client.send(
    new QueryCommand({
      TableName: 'pairs',
      IndexName: 'gsi1',
      KeyConditionExpression: 'gsi1pk = :i',
      ExpressionAttributeValues: { ':i': { S: 'i' } }
    })
  )
  t.equal(Count, 1)
})

t.test('a cancelled transaction says why, and changes nothing', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  await transact(client, [put('a', { n: { S: 'text' } })])
  const cancelled = transact(client, [
    { Put: { TableName, Item: key('a'), ...isNew, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } },
    put('b'),
    { ConditionCheck: { TableName, Key: key('c'), ...exists, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }
  ])
  const err = await cancelled.catch(err => err)
  t.equal(err.name, 'TransactionCanceledException')
  t.equal(
    err.message,
    'Transaction cancelled, please refer cancellation reasons for specific reasons [ConditionalCheckFailed, None, ConditionalCheckFailed]'
  )
  t.strictSame(err.CancellationReasons, [
    {
      Code: 'ConditionalCheckFailed',
      Message: 'The conditional request failed',
      Item: { id: { S: 'a' }, n: { S: 'text' } }
    },
    { Code: 'None' },
    { Code: 'ConditionalCheckFailed', Message: isLocal ? `${FAILED}.` : FAILED }
  ])
  t.notOk(await get(client, 'b'))
  const UpdateExpression = 'SET n = n + :one'
  const ExpressionAttributeValues = { ':one': { N: '1' } }
  const invalid = transact(client, [
    put('b'),
    { Update: { TableName, Key: key('a'), UpdateExpression, ExpressionAttributeValues } },
    { Delete: { TableName, Key: { wrong: { S: 'a' } } } }
  ])
  const reasons = [
    { Code: 'None' },
    { Code: 'ValidationError', Message: 'An operand in the update expression has an incorrect data type' },
    { Code: 'ValidationError', Message: 'The provided key element does not match the schema' }
  ]
  await t.rejects(
    invalid,
    isLocal ? { name: 'ValidationException' } : { name: 'TransactionCanceledException', CancellationReasons: reasons }
  )
  t.notOk(await get(client, 'b'))
})

t.test('a transaction that DynamoDB would not take is refused', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  const refused = async (items: TransactWriteItem[], message: string | RegExp) =>
    t.rejects(transact(client, items), { name: 'ValidationException', message })
  await refused([], /Member must have length greater than or equal to 1/)
  await refused(
    Array.from({ length: 101 }, (_, i) => put(`${i}`)),
    /Member must have length less than or equal to 100/
  )
  await refused([put('a'), put('a')], 'Transaction request cannot include multiple operations on one item')
  await refused(
    [{}],
    isLocal ? /should contain Delete or Put/ : 'TransactItems can only contain one of Check, Put, Update or Delete'
  )
  await refused(
    [{ ...put('a'), Delete: { TableName, Key: key('b') } }],
    'TransactItems can only contain one of Check, Put, Update or Delete'
  )
  const noExpression = { TableName, Key: key('a'), ConditionExpression: undefined }
  await refused(
    [{ ConditionCheck: noExpression }],
    /Value null at 'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy constraint: Member must not be null/
  )
  await refused(
    [{ Put: { TableName, Item: key('a'), ConditionExpression: 'a ==' } }],
    /^Invalid ConditionExpression: Syntax error/
  )
  const large = { data: { S: 'x'.repeat(399_000) } }
  await refused(
    Array.from({ length: 11 }, (_, i) => put(`${i}`, large)),
    'Transaction payload size cannot exceed 4MB. Payload Size: 4389078'
  )
  await t.rejects(transact(client, [{ Put: { TableName: 'nowhere', Item: key('a') } }]), {
    name: 'ResourceNotFoundException'
  })
  t.notOk(await get(client, 'a'))
  const ids = Array.from({ length: 11 }, (_, i) => `${i}`)
  for (const id of ids) await client.send(new PutItemCommand({ TableName, Item: { ...key(id), ...large } }))
  const gets = ids.map(id => ({ Get: { TableName, Key: key(id) } }))
  await t.rejects(client.send(new TransactGetItemsCommand({ TransactItems: gets })), {
    name: 'ValidationException',
    message: /^Payload in response is too large/
  })
})

t.test('a transaction with a token is done once in ten minutes, restarts included', async t => {
  const path = folder(t)
  let now = Date.parse('2030-01-01')
  const options = { path, now: () => now }
  const add = (n: number): TransactWriteItem => ({
    Update: {
      TableName,
      Key: key('sum'),
      UpdateExpression: 'ADD n :n',
      ExpressionAttributeValues: { ':n': { N: `${n}` } }
    }
  })
  const token = { ClientRequestToken: 'one/two' }
  const first = await start(t, options)
  await first.client.send(new CreateTableCommand(plain()))
  await transact(first.client, [add(1)], token)
  await transact(first.client, [add(1)], token)
  await t.rejects(transact(first.client, [add(2)], token), { name: 'IdempotentParameterMismatchException' })
  await first.engine.close()
  const second = await start(t, options)
  await transact(second.client, [add(1)], token)
  t.strictSame((await get(second.client, 'sum'))?.n, { N: '1' })
  now += 600_001
  await transact(second.client, [add(1)], token)
  await transact(second.client, [add(1)], token)
  t.strictSame((await get(second.client, 'sum'))?.n, { N: '2' }, 'later it is another transaction')
})

t.test('items are read together', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  await client.send(new PutItemCommand({ TableName, Item: { ...key('a'), n: { N: '1' }, m: { N: '2' } } }))
  const read = (...gets: object[]) =>
    client.send(
      new TransactGetItemsCommand({
        TransactItems: gets.map(more => ({ Get: { TableName, Key: key('a'), ...more } })),
        ReturnConsumedCapacity: 'TOTAL'
      })
    )
  const names = { ProjectionExpression: '#n', ExpressionAttributeNames: { '#n': 'n' } }
  const { Responses, ConsumedCapacity } = await read(names, { Key: key('missing') })
  t.strictSame(Responses, [{ Item: { n: { N: '1' } } }, {}])
  t.match(ConsumedCapacity, [{ TableName, CapacityUnits: 4 }])
  await t.rejects(read({}, {}), { message: 'Transaction request cannot include multiple operations on one item' })
  await t.rejects(read({ TableName: 'nowhere' }), { name: 'ResourceNotFoundException' })
  await t.rejects(read(), { name: 'ValidationException' })
  const written = await transact(client, [put('x'), put('y')], { ReturnConsumedCapacity: 'TOTAL' })
  t.match(written.ConsumedCapacity, [{ TableName, CapacityUnits: 4 }])
})
