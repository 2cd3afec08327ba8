import { once } from 'node:events'
import { connect as openSocket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { CreateTableCommand, DescribeTableCommand } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { plain, start } from './engine-helpers.js'
import { aboutEmbedded } from './outside.js'

const item = { id: { S: 'a' } }
const put = (more: object) => ({ TableName: 'plain', Item: { ...item, ...more } })
const nested = (levels: number) => `${'{"M":{"x":'.repeat(levels)}{"S":"x"}${'}}'.repeat(levels)}`

/** Requests that no client would send: the operation, the body, and what DynamoDB would say, if we know. */
const hostile: [string | undefined, unknown, string?][] = [
  ['PutItem', 'null', 'SerializationException'],
  ['PutItem', '[]', 'SerializationException'],
  ['PutItem', '"text"', 'SerializationException'],
  ['PutItem', '7', 'SerializationException'],
  ['PutItem', '', 'SerializationException'],
  ['PutItem', '{"TableName":"pla', 'SerializationException'],
  ['PutItem', {}, 'ValidationException'],
  ['Nothing', {}, 'UnknownOperationException'],
  [undefined, {}, 'UnknownOperationException'],
  ['constructor', {}, 'UnknownOperationException'],
  ['PutItem', put({ x: null }), 'ValidationException'],
  ['PutItem', put({ x: { L: [null] } }), 'ValidationException'],
  ['PutItem', put({ x: { M: { y: null } } }), 'ValidationException'],
  ['PutItem', put({ x: { SS: [null] } })],
  ['PutItem', put({ x: {} }), 'ValidationException'],
  ['PutItem', put({ x: { S: 'a', N: '1' } }), 'ValidationException'],
  ['PutItem', put({ x: { S: 7 } }), 'SerializationException'],
  ['PutItem', put({ x: { S: ['a'] } }), 'SerializationException'],
  ['PutItem', put({ x: { B: 'é' } }), 'SerializationException'],
  ['PutItem', put({ x: { N: 'one' } }), 'ValidationException'],
  ['PutItem', put({ x: { N: '9'.repeat(100_000) } }), 'ValidationException'],
  ['PutItem', put({ x: 'text' }), 'SerializationException'],
  ['PutItem', put({ x: { BOOL: 'maybe' } }), 'SerializationException'],
  ['PutItem', { TableName: 'plain', Item: [] }, 'SerializationException'],
  ['PutItem', { TableName: 'plain', Item: null }, 'ValidationException'],
  ['PutItem', { TableName: 'plain', Item: {} }, 'ValidationException'],
  ['PutItem', { TableName: {}, Item: item }, 'SerializationException'],
  ['PutItem', { TableName: '../x', Item: item }, 'ValidationException'],
  ['PutItem', { TableName: 'plain~x', Item: item }, 'ValidationException'],
  ['PutItem', { TableName: 'constructor', Item: item }, 'ResourceNotFoundException'],
  ['PutItem', '{"TableName":"plain","Item":{"id":{"S":"a"},"__proto__":{"S":"x"}}}', 'ValidationException'],
  ['PutItem', '{"TableName":"plain","Item":{"id":{"S":"a"},"\\u005f_proto__":{"S":"x"}}}', 'ValidationException'],
  ['PutItem', `{"TableName":"plain","Item":{"id":{"S":"a"},"x":${nested(33)}}}`, 'ValidationException'],
  ['PutItem', `{"TableName":"plain","Item":{"id":{"S":"a"},"x":${nested(3000)}}}`, 'ValidationException'],
  ['PutItem', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'SerializationException'],
  ['PutItem', `{"Item":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'ValidationException'],
  ['PutItem', { ...put({}), ExpressionAttributeValues: { ':x': null }, ConditionExpression: 'a = :x' }],
  ['PutItem', { ...put({}), ExpressionAttributeNames: { '#x': null }, ConditionExpression: '#x = id' }],
  ['PutItem', { ...put({}), ConditionExpression: `${'('.repeat(2000)}a${')'.repeat(2000)}` }, 'ValidationException'],
  ['PutItem', { ...put({}), ConditionExpression: '' }, 'ValidationException'],
  ['PutItem', { ...put({}), ConditionExpression: '()' }, 'ValidationException'],
  ['PutItem', { ...put({}), Expected: { id: null } }],
  ['PutItem', { ...put({}), Expected: { id: { ComparisonOperator: 'EQ', AttributeValueList: [null] } } }],
  ['GetItem', { TableName: 'plain', Key: { id: null } }, 'ValidationException'],
  ['GetItem', { TableName: 'plain', Key: { id: { N: '1' } } }, 'ValidationException'],
  ['GetItem', { TableName: 'plain', Key: { id: { S: '' } } }, 'ValidationException'],
  ['GetItem', { TableName: 'plain', Key: item, AttributesToGet: [null] }],
  ['UpdateItem', { TableName: 'plain', Key: item, AttributeUpdates: { x: null } }],
  ['UpdateItem', { TableName: 'plain', Key: item, UpdateExpression: 'SET' }, 'ValidationException'],
  ['UpdateItem', { TableName: 'plain', Key: item, UpdateExpression: 'ADD x :x' }, 'ValidationException'],
  ['DeleteItem', { TableName: 'plain', Key: { id: { S: 'a' }, x: { S: 'b' } } }, 'ValidationException'],
  ['BatchWriteItem', { RequestItems: null }, 'ValidationException'],
  ['BatchWriteItem', { RequestItems: { plain: null } }],
  ['BatchWriteItem', { RequestItems: { plain: [null] } }, 'ValidationException'],
  ['BatchWriteItem', { RequestItems: { plain: [{}] } }, 'ValidationException'],
  ['BatchWriteItem', { RequestItems: { plain: [{ PutRequest: { Item: null } }] } }, 'ValidationException'],
  ['BatchWriteItem', `{"RequestItems":{"plain":[{"PutRequest":{"Item":{"x":${nested(33)}}}}]}}`, 'ValidationException'],
  ['BatchGetItem', { RequestItems: { plain: { Keys: [null] } } }, 'ValidationException'],
  ['BatchGetItem', { RequestItems: { plain: {} } }, 'ValidationException'],
  ['Query', { TableName: 'plain' }, 'ValidationException'],
  ['Query', { TableName: 'plain', KeyConditions: { id: null } }],
  ['Query', { TableName: 'plain', KeyConditions: { id: { ComparisonOperator: 'EQ' } } }, 'ValidationException'],
  [
    'Query',
    { TableName: 'plain', KeyConditionExpression: `${'('.repeat(30)}id = :x${')'.repeat(30)}` },
    'ValidationException'
  ],
  ['Query', { TableName: 'plain', KeyConditionExpression: '(id = :x) OR (id = :y)' }, 'ValidationException'],
  ['Scan', { TableName: 'plain', Limit: -1 }, 'ValidationException'],
  ['Scan', { TableName: 'plain', ExclusiveStartKey: { id: null } }, 'ValidationException'],
  ['Scan', { TableName: 'plain', ScanFilter: { id: { ComparisonOperator: 'EQ', AttributeValueList: [null] } } }],
  ['CreateTable', { TableName: 'new', KeySchema: [null], AttributeDefinitions: [null] }, 'ValidationException'],
  ['CreateTable', { TableName: 'plain' }, 'ValidationException'],
  ['UpdateTable', { TableName: 'plain', GlobalSecondaryIndexUpdates: [null] }, 'ValidationException'],
  ['TagResource', { ResourceArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/plain', Tags: [null] }],
  ['TransactWriteItems', { TransactItems: [null] }, 'ValidationException'],
  ['TransactWriteItems', { TransactItems: 'all' }, 'SerializationException'],
  ['TransactWriteItems', { TransactItems: [{ Put: null }] }, 'ValidationException'],
  ['TransactWriteItems', { TransactItems: [{ Put: [] }] }, 'SerializationException'],
  ['TransactWriteItems', { TransactItems: [{ Put: put({ x: null }) }] }, 'ValidationException'],
  ['TransactWriteItems', { TransactItems: [{ Put: put({}) }], ClientRequestToken: '' }, 'ValidationException'],
  [
    'TransactWriteItems',
    `{"TransactItems":[{"Put":{"TableName":"plain","Item":{"id":{"S":"a"},"x":${nested(33)}}}}]}`,
    'ValidationException'
  ],
  ['TransactGetItems', { TransactItems: [null] }, 'ValidationException'],
  ['TransactGetItems', { TransactItems: [{}] }, 'ValidationException'],
  ['TransactGetItems', { TransactItems: [{ Get: { TableName: 'plain', Key: null } }] }, 'ValidationException'],
  ['UpdateTimeToLive', { TableName: 'plain', TimeToLiveSpecification: null }, 'ValidationException'],
  [
    'UpdateTimeToLive',
    { TableName: 'plain', TimeToLiveSpecification: { Enabled: 'perhaps' } },
    'SerializationException'
  ],
  ['DescribeTimeToLive', { TableName: null }, 'ValidationException']
]

const text = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body))

t.test('hostile requests are refused, one by one', aboutEmbedded, async t => {
  const { engine, client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  for (const [operation, body, expected] of hostile) {
    const answer = await engine.handle(operation && `DynamoDB_20120810.${operation}`, text(body))
    const label = `${operation} ${text(body).slice(0, 100)}: ${answer.body.slice(0, 160)}`
    t.ok(answer.status >= 400 && answer.status < 500, label)
    if (expected) t.ok(JSON.parse(answer.body).__type.endsWith(`#${expected}`), `${label}, expected ${expected}`)
  }
  const large = await engine.handle('DynamoDB_20120810.PutItem', 'x'.repeat(17 * 1024 * 1024))
  t.equal(large.status, 413)
  t.ok(await client.send(new DescribeTableCommand({ TableName: 'plain' })), 'and the engine lives on')
})

t.test('the endpoint stands what a network does', aboutEmbedded, async t => {
  const { engine, client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  const { url, port, close } = await engine.listen(0)
  const post = (body: string, target = 'DescribeTable') =>
    fetch(url, { method: 'POST', headers: { 'x-amz-target': `DynamoDB_20120810.${target}` }, body })

  const good = await post('{"TableName":"plain"}')
  const body = await good.text()
  t.equal(good.headers.get('x-amz-crc32'), String(crc32(body)))
  t.equal(good.headers.get('content-type'), 'application/x-amz-json-1.0')
  t.match(JSON.parse(body), { Table: { TableName: 'plain' } })
  t.equal((await post('null')).status, 400)
  t.equal((await post('x'.repeat(17 * 1024 * 1024))).status, 413)
  t.equal((await fetch(url)).status, 200)
  t.equal((await fetch(url, { method: 'PUT', body: '{}' })).status, 404)

  for (const start of [
    'POST / HT',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"TableName"',
    'rubbish\r\n\r\n'
  ]) {
    const socket = openSocket(port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(start)
    await setTimeout(5)
    socket.destroy()
  }
  t.equal((await post('{"TableName":"plain"}')).status, 200, 'cut-off connections harm nobody')

  const held = openSocket(port, '127.0.0.1')
  held.on('error', () => {})
  await once(held, 'connect')
  held.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{')
  await close()
  await close()
  await t.rejects(post('{}'), 'closed')
  t.ok(await client.send(new DescribeTableCommand({ TableName: 'plain' })), 'the engine is not')
})

t.test('a closed engine refuses', aboutEmbedded, async t => {
  const { engine } = await start(t)
  await engine.close()
  t.equal((await engine.handle('DynamoDB_20120810.ListTables', '{}')).status, 500)
})
