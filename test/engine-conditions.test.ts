import {
  type AttributeValue,
  CreateTableCommand,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  UpdateItemCommand
} from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { isLocal, pairs, plain, start } from './engine-helpers.js'

const TableName = 'plain'
const Key = { id: { S: 'a' } }

type Values = Record<string, AttributeValue>

const stored: Values = {
  ...Key,
  text: { S: 'grün' },
  blank: { S: '' },
  off: { BOOL: false },
  nil: { NULL: true },
  n: { N: '10' },
  below: { N: '-2.5' },
  octets: { B: Buffer.from([255, 1, 2]) },
  strings: { SS: ['a', 'b'] },
  numbers: { NS: ['1', '2'] },
  parts: { L: [{ S: 'x' }, { M: { deep: { BOOL: false } } }, { NS: ['1', '2'] }] },
  doc: { M: { one: { N: '1' }, two: { L: [{ S: 'y' }] } } },
  constructed: { M: {} }
}

/** Gives whether a condition holds for the stored item, as a condition and as a filter. */
async function judge(t: Parameters<typeof start>[0]) {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  await client.send(new PutItemCommand({ TableName, Item: stored }))
  return async (expression: string, values?: Values): Promise<boolean> => {
    const ExpressionAttributeValues = values
    const asFilter = await client.send(
      new ScanCommand({ TableName, FilterExpression: expression, ExpressionAttributeValues })
    )
    const put = new PutItemCommand({
      TableName,
      Item: stored,
      ConditionExpression: expression,
      ExpressionAttributeValues
    })
    const asCondition = await client.send(put).then(
      () => true,
      err => err.name !== 'ConditionalCheckFailedException' && Promise.reject(err)
    )
    t.equal(asFilter.Count === 1, asCondition, `${expression}: the filter agrees with the condition`)
    return asCondition
  }
}

t.test('equality', async t => {
  const holds = await judge(t)
  const equal = async (name: string, v: AttributeValue, expected = true) => {
    const label = `${name} = ${JSON.stringify(v)}`
    t.equal(await holds(`${name} = :v`, { ':v': v }), expected, label)
    t.equal(await holds(`${name} <> :v`, { ':v': v }), !expected, `not ${label}`)
    t.equal(await holds(`${name} IN (:v)`, { ':v': v }), expected, `IN, ${label}`)
  }
  await equal('off', { BOOL: false })
  await equal('off', { BOOL: true }, false)
  await equal('nil', { NULL: true })
  await equal('blank', { S: '' })
  await equal('n', { N: '10.0' })
  await equal('n', { S: '10' }, false)
  await equal('octets', { B: Buffer.from([255, 1, 2]) })
  await equal('strings', { SS: ['b', 'a'] })
  await equal('strings', { SS: ['a', 'c'] }, false)
  await equal('numbers', { NS: ['2', '1.0'] })
  await equal('parts', { L: [{ S: 'x' }, { M: { deep: { BOOL: false } } }, { NS: ['2', '1'] }] })
  await equal('parts', { L: [{ M: { deep: { BOOL: false } } }, { S: 'x' }, { NS: ['2', '1'] }] }, false)
  await equal('doc', { M: { two: { L: [{ S: 'y' }] }, one: { N: '1' } } })
  await equal('doc', { M: { two: { L: [{ S: 'z' }] }, one: { N: '1' } } }, false)
  await equal('constructed', { M: {} })
  await equal('absent', { S: 'x' }, false)
  t.equal(await holds('absent = away'), false)
  t.equal(await holds('toLocaleString = :v', { ':v': { S: 'x' } }), false)
  t.equal(await holds('attribute_exists(toString)'), false)
})

t.test('order, size, parts and types', async t => {
  const holds = await judge(t)
  const yes = async (expression: string, values?: Values) => t.ok(await holds(expression, values), expression)
  const no = async (expression: string, values?: Values) => t.notOk(await holds(expression, values), expression)
  await yes('n > :v', { ':v': { N: '9' } })
  await yes('n >= :v AND n <= :v', { ':v': { N: '1e1' } })
  await yes('below < :v', { ':v': { N: '-2.4' } })
  await no('below < :v', { ':v': { N: '-2.50' } })
  await yes('below BETWEEN :a AND :b', { ':a': { N: '-3' }, ':b': { N: '0' } })
  await no('n < :v', { ':v': { S: '9' } })
  await yes('octets > :v', { ':v': { B: Buffer.from([254]) } })
  await yes('size(blank) = :v', { ':v': { N: '0' } })
  await yes('size(doc.two) = :v', { ':v': { N: '1' } })
  await no('size(n) = :v', { ':v': { N: '1' } })
  await yes('contains(parts, :v)', { ':v': { S: 'x' } })
  await yes('contains(parts, :v)', { ':v': { M: { deep: { BOOL: false } } } })
  await yes('contains(numbers, :v)', { ':v': { N: '2' } })
  await no('contains(numbers, :v)', { ':v': { S: '2' } })
  await yes('begins_with(octets, :v)', { ':v': { B: Buffer.from([255]) } })
  await yes('attribute_type(blank, :v)', { ':v': { S: 'S' } })
  await yes('attribute_exists(parts[1].deep) AND attribute_not_exists(parts[9])')
  await yes('NOT parts[1].deep = :v', { ':v': { BOOL: true } })
})

t.test('groups mean what they say, however deep', async t => {
  const holds = await judge(t)
  const [T, F] = ['attribute_exists(id)', 'attribute_exists(absent)']
  t.equal(await holds(`${T} OR ${T} AND ${F}`), true)
  t.equal(await holds(`(${T} OR ${T}) AND ${F}`), false)
  t.equal(await holds(`NOT (${T} AND ${F}) AND (${F} OR (${T} AND NOT ${F}))`), true)
  t.equal(
    await holds(`(n BETWEEN :a AND :b) AND (n IN (:a, :b) OR ${F})`, { ':a': { N: '1' }, ':b': { N: '10' } }),
    true
  )
  // dynalite's own parser would be at this for longer than anyone waits.
  const deep = '('.repeat(40) + T + ` AND ${T})`.repeat(40)
  t.equal(await holds(deep), true)
  await t.rejects(holds(`((${T}))`), { message: /redundant parentheses/ })
  await t.rejects(holds(`(${T}`), { message: /Invalid \w+: Syntax error/ })
  await t.rejects(holds(`(${T}) ${T}`), { message: /Invalid \w+: Syntax error/ })
  await t.rejects(holds(`(${T}) AND`), { message: /Invalid \w+: Syntax error/ })
  await t.rejects(holds(`(${T}) AND #x = id`), { message: /not defined/ })
  await t.rejects(holds('x'.repeat(4097)), { message: /Expression size has exceeded the maximum allowed size/ })
})

t.test('conditions in the old style', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  await client.send(new PutItemCommand({ TableName, Item: stored }))
  const scan = async (ConditionalOperator: 'AND' | 'OR') => {
    const ScanFilter = {
      n: { ComparisonOperator: 'GT' as const, AttributeValueList: [{ N: '99' }] },
      text: { ComparisonOperator: 'NOT_CONTAINS' as const, AttributeValueList: [{ S: 'q' }] }
    }
    return (await client.send(new ScanCommand({ TableName, ScanFilter, ConditionalOperator }))).Count
  }
  t.equal(await scan('AND'), 0)
  t.equal(await scan('OR'), 1)
  const put = (Value: AttributeValue) =>
    client.send(new PutItemCommand({ TableName, Item: stored, Expected: { doc: { Value } } }))
  await put(stored.doc as AttributeValue)
  await t.rejects(put({ M: {} }), { name: 'ConditionalCheckFailedException' })
})

t.test('a failed condition can show the item', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  const Item = { ...Key, n: { N: '1' } }
  await client.send(new PutItemCommand({ TableName, Item }))
  const show = { TableName, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }
  const ConditionExpression = 'attribute_exists(absent)'
  const failed = { name: 'ConditionalCheckFailedException', Item }
  await t.rejects(client.send(new PutItemCommand({ ...show, Item: Key, ConditionExpression })), failed)
  await t.rejects(client.send(new DeleteItemCommand({ ...show, Key, ConditionExpression })), failed)
  const update = { ...show, Key, ConditionExpression, UpdateExpression: 'REMOVE n' }
  await t.rejects(client.send(new UpdateItemCommand(update)), failed)
  const err = await client
    .send(new DeleteItemCommand({ ...show, ConditionExpression, Key: { id: { S: 'new' } } }))
    .catch(err => err)
  t.equal(err.Item, undefined)
})

t.test('an update speaks of the item as it was', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  const list = { L: ['0', '1', '2', '3'].map(N => ({ N })) }
  await client.send(
    new PutItemCommand({ TableName, Item: { ...Key, places: list, a: { N: '1' }, b: { N: '5' }, m: { M: {} } } })
  )
  const update = async (UpdateExpression: string, ExpressionAttributeValues?: Values) => {
    const command = { TableName, Key, UpdateExpression, ExpressionAttributeValues, ReturnValues: 'ALL_NEW' as const }
    return (await client.send(new UpdateItemCommand(command))).Attributes
  }
  t.strictSame((await update('REMOVE places[0], places[1]'))?.places, { L: [{ N: '2' }, { N: '3' }] })
  t.match(await update('SET a = b ADD b :one', { ':one': { N: '1' } }), { a: { N: '5' }, b: { N: '6' } })
  t.match(await update('SET a = b, b = a'), { a: { N: '6' }, b: { N: '5' } })
  t.match(await update('SET c = m, m.x = :one', { ':one': { N: '1' } }), { c: { M: {} }, m: { M: { x: { N: '1' } } } })
  await t.rejects(update('ADD a :big', { ':big': { N: '1e60' } }), {
    message: isLocal ? /precision up to 38 digits/ : /38 significant digits/
  })
})

t.test('sizes are counted in bytes', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(pairs()))
  const TableName = 'pairs'
  const key = { pk: { S: 'a' }, sk: { S: 'b' } }
  const put = (more: Values) => client.send(new PutItemCommand({ TableName, Item: { ...key, ...more } }))
  const room = 400 * 1024 - 'pk'.length - 'a'.length - 'sk'.length - 'b'.length - 'é'.length * 2
  await put({ é: { S: 'é'.repeat(room / 2) } })
  const tooLarge = { message: 'Item size has exceeded the maximum allowed size' }
  await t.rejects(put({ é: { S: `${'é'.repeat(room / 2)}x` } }), tooLarge)
  const grow = { UpdateExpression: 'SET x = :x', ExpressionAttributeValues: { ':x': { S: 'x' } } }
  await t.rejects(client.send(new UpdateItemCommand({ TableName, Key: key, ...grow })), {
    message: 'Item size to update has exceeded the maximum allowed size'
  })
  await t.rejects(put({ pk: { S: 'é'.repeat(1025) } }), {
    message: isLocal ? /must be under 2048 bytes/ : /hashkey has exceeded the maximum size/
  })
  await t.rejects(put({ gsi1pk: { S: '' }, gsi1sk: { S: 'x' } }), { message: /IndexName: gsi1, IndexKey: gsi1pk/ })
})

t.test('names have a character and at most 65,535 bytes, wherever they stand', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  for (const [name, message] of [
    ['', 'Empty attribute name'],
    ['é'.repeat(32_768), 'Attribute name is too large, must be less than 65536 bytes']
  ] as const) {
    const map: AttributeValue = { M: { [name]: { S: 'x' } } }
    for (const x of [map, { L: [{ M: { x: map } }] }]) {
      const put = new PutItemCommand({ TableName, Item: { ...Key, x } })
      await t.rejects(client.send(put), { name: 'ValidationException', message })
    }
    const update = new UpdateItemCommand({
      TableName,
      Key,
      UpdateExpression: 'SET x = :x',
      ExpressionAttributeValues: { ':x': map }
    })
    await t.rejects(client.send(update), {
      message: `ExpressionAttributeValues contains invalid value: ${message} for key :x`
    })
  }
  await client.send(new PutItemCommand({ TableName, Item: { ...Key, x: { M: { ['x'.repeat(65_535)]: { S: 'x' } } } } }))
})

t.test('the deepest value is inside of 31 maps and lists, which is level 32', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  const put = (x: AttributeValue) => client.send(new PutItemCommand({ TableName, Item: { ...Key, x } }))
  const nested = (levels: number, leaf: AttributeValue): AttributeValue => {
    if (levels === 0) return leaf
    const inner = nested(levels - 1, leaf)
    return levels % 2 ? { L: [inner] } : { M: { x: inner } }
  }
  const message = 'Nesting Levels have exceeded supported limits'
  const tooDeep = {
    name: 'ValidationException',
    message: `${message}: Attributes in the item have nested levels beyond supported limit`
  }
  const scalars: AttributeValue[] = [{ S: 'x' }, { NULL: true }, { SS: ['x'] }]
  for (const leaf of scalars) {
    await put(nested(31, leaf))
    await t.rejects(put(nested(32, leaf)), tooDeep)
  }
  for (const leaf of [{ L: [] }, { M: {} }]) {
    await put(nested(30, leaf))
    await t.rejects(put(nested(31, leaf)), tooDeep, 'an empty one is one, too')
  }
  await put({ M: {} })
  const update = (UpdateExpression: string, levels: number, more = {}) =>
    client.send(
      new UpdateItemCommand({
        TableName,
        Key,
        UpdateExpression,
        ExpressionAttributeValues: { ':v': nested(levels, { S: 'x' }) },
        ...more
      })
    )
  await update('SET x.y = :v', 30)
  await t.rejects(update('SET x.z = :v', 31), { name: 'ValidationException', message })
  await t.rejects(update('SET z = :v', 32), { name: 'ValidationException', message })
  await update('REMOVE z', 32, { ConditionExpression: 'x <> :v' })
  const { Item } = await client.send(new GetItemCommand({ TableName, Key }))
  t.strictSame(Item, { ...Key, x: { M: { y: nested(30, { S: 'x' }) } } }, 'what was refused has changed nothing')
})

t.test('a condition that comes again is judged anew, with the names of its own request', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(plain()))
  const put = (id: string, names: Record<string, string>, more: object = {}) => {
    const command = new PutItemCommand({
      TableName,
      Item: { id: { S: id }, n: { N: '1' } },
      ConditionExpression: 'attribute_not_exists(#a) OR attribute_exists(#b)',
      ExpressionAttributeNames: names,
      ...more
    })
    return client.send(command).then(
      () => 'done',
      err => `${err.name}: ${err.message}`
    )
  }
  const refused = 'ConditionalCheckFailedException: The conditional request failed'
  t.equal(await put('a', { '#a': 'id', '#b': 'other' }), 'done')
  t.equal(await put('a', { '#a': 'id', '#b': 'other' }), refused)
  t.equal(await put('b', { '#a': 'id', '#b': 'other' }), 'done')
  t.equal(await put('a', { '#a': 'id', '#b': 'n' }), 'done')
  t.equal(await put('a', { '#a': 'other', '#b': 'id' }), 'done')
  t.match(await put('a', { '#a': 'id', '#b': 'n', '#c': 'x' }), /unused in expressions: keys: \{#c\}/)
  t.match(await put('a', { '#a': 'id' }), /is not defined; attribute name: #b/)
  t.match(await put('a', { '#a': 'id' }), /is not defined; attribute name: #b/, 'nor the second time')
})
