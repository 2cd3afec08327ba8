import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  type ReturnConsumedCapacity,
  ScanCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand
} from '@aws-sdk/client-dynamodb'
import t, { type Test } from 'tap'
import { isLocal, pairs, start } from './engine-helpers.js'

/** What requests consume. How DynamoDB Local counts otherwise is listed in docs/engines.md. */

type Values = Record<string, AttributeValue>

const TableName = 'pairs'
const Key = { pk: { S: 'a' }, sk: { S: 'b' } }
const indexed = (sort: string): Values => ({ gsi1pk: { S: 'g' }, gsi1sk: { S: sort } })
const total = { TableName, ReturnConsumedCapacity: 'TOTAL' as const }

async function begin(t: Test) {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(pairs()))
  return { client, ...writers(client) }
}

function writers(client: DynamoDBClient) {
  const put = async (more: Values) => {
    const { ConsumedCapacity } = await client.send(new PutItemCommand({ ...total, Item: { ...Key, ...more } }))
    return ConsumedCapacity?.CapacityUnits
  }
  const update = async (UpdateExpression: string, values?: Values) => {
    const { ConsumedCapacity } = await client.send(
      new UpdateItemCommand({ ...total, Key, UpdateExpression, ExpressionAttributeValues: values })
    )
    return ConsumedCapacity?.CapacityUnits
  }
  const remove = async () => {
    const { ConsumedCapacity } = await client.send(new DeleteItemCommand({ ...total, Key }))
    return ConsumedCapacity?.CapacityUnits
  }
  const transact = async (TransactItems: TransactWriteItem[], mode: ReturnConsumedCapacity = 'TOTAL') =>
    (await client.send(new TransactWriteItemsCommand({ TransactItems, ReturnConsumedCapacity: mode }))).ConsumedCapacity
  return { put, update, remove, transact }
}

t.test('a write is paid for in the table, and in each index whose row it changes', async t => {
  const { put, update, remove } = await begin(t)
  t.equal(await put({}), 1, 'in no index')
  t.equal(await put(indexed('1')), 2, 'into the index')
  t.equal(await update('SET n = :n', { ':n': { N: '1' } }), 2, 'its row changes')
  t.equal(await update('SET gsi1sk = :s', { ':s': { S: '2' } }), 3, 'its row moves: one goes and one comes')
  t.equal(await update('REMOVE gsi1sk'), 2, 'out of the index')
  t.equal(await update('SET n = :n', { ':n': { N: '2' } }), 1, 'in no index any more')
  t.equal(await put(indexed('3')), 2)
  t.equal(await remove(), 2)
  t.equal(await remove(), 1, 'nothing is there')
  const many = { S: 'x'.repeat(2500) }
  t.equal(await put({ ...indexed('1'), many }), 6, 'each by its size')
  t.equal(await update('REMOVE many'), 6, 'by the larger of before and after')
})

t.test('an index carries what it projects, and is paid for that', async t => {
  const { client } = await start(t)
  const { put, update } = writers(client)
  const [index] = pairs().GlobalSecondaryIndexes ?? []
  const Projection = { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: ['tip'] }
  const input = { ...pairs(), GlobalSecondaryIndexes: index ? [{ ...index, Projection }] : [] }
  await client.send(new CreateTableCommand(input))
  t.equal(await put({ ...indexed('1'), txt: { S: 'x'.repeat(2500) } }), 4)
  t.equal(await update('SET txt = :h', { ':h': { S: 'y' } }), 3, 'the index does not change')
  t.equal(await update('SET tip = :h', { ':h': { S: 'y' } }), 2)
})

t.test('several writes at once, and by index', async t => {
  const { client } = await begin(t)
  const items = ['1', '2', '3'].map(sk => ({ pk: Key.pk, sk: { S: sk }, ...(sk === '3' ? {} : indexed(sk)) }))
  const RequestItems = { [TableName]: items.map(Item => ({ PutRequest: { Item } })) }
  const batch = await client.send(new BatchWriteItemCommand({ RequestItems, ReturnConsumedCapacity: 'TOTAL' }))
  t.match(batch.ConsumedCapacity, [{ TableName, CapacityUnits: 5 }])
  const one = await client.send(
    new PutItemCommand({ TableName, Item: { ...Key, ...indexed('4') }, ReturnConsumedCapacity: 'INDEXES' })
  )
  t.match(one.ConsumedCapacity, {
    CapacityUnits: 2,
    Table: { CapacityUnits: 1 },
    GlobalSecondaryIndexes: { gsi1: { CapacityUnits: 1 } }
  })
})

t.test(
  'in a transaction the table is paid for twice, an index once',
  { skip: isLocal && 'it counts otherwise' },
  async t => {
    const { transact, put } = await begin(t)
    const Put = { TableName, Item: { ...Key, ...indexed('1') } }
    t.match(await transact([{ Put }], 'INDEXES'), [
      {
        CapacityUnits: 3,
        WriteCapacityUnits: 3,
        Table: { CapacityUnits: 2 },
        GlobalSecondaryIndexes: { gsi1: { CapacityUnits: 1, WriteCapacityUnits: 1 } }
      }
    ])
    const [check, other] = [Key, { ...Key, sk: { S: 'other' } }]
    await put({ many: { S: 'x'.repeat(2500) } })
    const ConditionCheck = { TableName, Key: check, ConditionExpression: 'attribute_exists(pk)' }
    t.match(await transact([{ ConditionCheck }, { Delete: { TableName, Key: other } }]), [{ CapacityUnits: 8 }])
  }
)

t.test('a transaction that is repeated by its token is only read', async t => {
  const { client } = await begin(t)
  const request = {
    TransactItems: [{ Put: { TableName, Item: Key } }],
    ReturnConsumedCapacity: 'TOTAL' as const,
    ClientRequestToken: 'once'
  }
  await client.send(new TransactWriteItemsCommand(request))
  const { ConsumedCapacity } = await client.send(new TransactWriteItemsCommand(request))
  t.strictSame(ConsumedCapacity, [{ TableName, CapacityUnits: 2, ReadCapacityUnits: 2 }])
})

t.test('what is not there is read as well', { skip: isLocal && 'it counts nothing for it' }, async t => {
  const { client } = await begin(t)
  const byKey = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': { S: 'none' } } }
  for (const [ConsistentRead, CapacityUnits] of [
    [false, 0.5],
    [true, 1]
  ] as const) {
    const empty = [
      new QueryCommand({ ...total, ...byKey, ConsistentRead }),
      new ScanCommand({ ...total, ConsistentRead })
    ]
    for (const command of empty) {
      const { ConsumedCapacity } = await client.send(command as QueryCommand)
      t.strictSame(ConsumedCapacity, { TableName, CapacityUnits })
    }
    const RequestItems = { [TableName]: { Keys: [Key], ConsistentRead } }
    const batch = await client.send(new BatchGetItemCommand({ RequestItems, ReturnConsumedCapacity: 'TOTAL' }))
    t.match(batch.ConsumedCapacity, [{ CapacityUnits }])
  }
})
