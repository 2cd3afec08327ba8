import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  type AttributeValue,
  BatchGetItemCommand,
  CreateTableCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  paginateScan,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand
} from '@aws-sdk/client-dynamodb'
import type { Test } from 'tap'
import { folder, pairs, plain, start } from './engine-helpers.js'

type Item = Record<string, AttributeValue>

/** Moves amounts between ten items, a hundred transactions at a time: the sum stays, and what is cancelled changes nothing. */
export async function moveAmounts(t: Test, rounds: number, path?: string) {
  const { client } = await start(t, { path })
  await client.send(new CreateTableCommand(plain()))
  const ids = Array.from({ length: 10 }, (_, i) => `account ${i}`)
  for (const id of ids) {
    await client.send(new PutItemCommand({ TableName: 'plain', Item: { id: { S: id }, amount: { N: '20' } } }))
  }
  const outcomes = { done: 0, cancelled: 0 }
  for (let round = 0; round < rounds; round++) {
    const moves = Array.from({ length: 100 }, () => move(client, ids))
    for (const done of await Promise.all(moves)) outcomes[done ? 'done' : 'cancelled']++
    const { Items } = await client.send(new ScanCommand({ TableName: 'plain' }))
    const amounts = Items?.map(item => Number(item.amount?.N)) ?? []
    if (amounts.reduce((a, b) => a + b, 0) !== 200 || Math.min(...amounts) < 0) t.fail('the sum changed', { amounts })
  }
  t.ok(outcomes.done > 0 && outcomes.cancelled > 0, JSON.stringify(outcomes))
}

/** Gives whether the amount was there to be moved. */
async function move(client: DynamoDBClient, ids: string[]): Promise<boolean> {
  const from = Math.floor(Math.random() * ids.length)
  const to = (from + 1 + Math.floor(Math.random() * (ids.length - 1))) % ids.length
  const change = (i: number, by: number): TransactWriteItem => ({
    Update: {
      TableName: 'plain',
      Key: { id: { S: ids[i] as string } },
      UpdateExpression: 'ADD amount :by',
      ConditionExpression: 'amount >= :least',
      ExpressionAttributeValues: { ':by': { N: `${by}` }, ':least': { N: `${Math.max(-by, 0)}` } }
    }
  })
  const amount = Math.ceil(Math.random() * 30)
  const command = new TransactWriteItemsCommand({ TransactItems: [change(to, amount), change(from, -amount)] })
  return client.send(command).then(
    () => true,
    err => (err.name === 'TransactionCanceledException' ? false : Promise.reject(err))
  )
}

const TableName = 'pairs'
const halves: Item[] = ['left', 'right'].map(sk => ({ pk: { S: 'pair' }, sk: { S: sk } }))

/**
 * Writes two items with one value in transactions, and at the same time to one of them alone, while others read both:
 * nobody sees two values, and no write of either kind is lost.
 */
export async function readWhileWriting(t: Test, rounds: number, path?: string) {
  const { client } = await start(t, { path })
  await client.send(new CreateTableCommand(pairs()))
  await writeBoth(client, 0)
  let isDone = false
  let seen = 0
  const readers = [byQuery, byIndex, byScan, byTransaction, byBatch].map(async read => {
    while (!isDone) {
      const items = (await read(client)).filter(item => item.pk?.S === 'pair')
      const values = new Set(items.map(item => item.n?.N))
      if (items.length !== 2 || values.size !== 1) t.fail(`half was seen ${read.name}`, { values: [...values] })
      seen++
    }
  })
  for (let round = 1; round <= rounds; round++) {
    const half = halves[round % 2] as Item
    await inEitherOrder(round, [() => writeBoth(client, round), () => writeOne(client, half)])
    const { Item } = await client.send(new GetItemCommand({ TableName, Key: half }))
    if (Item?.n?.N !== `${round}`) t.fail('what was acknowledged was not seen')
  }
  isDone = true
  await Promise.all(readers)
  const singles = (await byQuery(client)).reduce((sum, item) => sum + Number(item.singles?.N), 0)
  t.equal(singles, rounds, 'no single write is lost')
  t.ok(seen > rounds, `${seen} reads beside ${rounds} transactions`)
}

/** Both at once; which comes first changes. */
const inEitherOrder = (round: number, [one, other]: [() => Promise<unknown>, () => Promise<unknown>]) =>
  Promise.all(round % 4 < 2 ? [one(), other()] : [other(), one()])

function writeBoth(client: DynamoDBClient, n: number): Promise<unknown> {
  const updates = halves.map(Key => ({
    Update: {
      TableName,
      Key,
      UpdateExpression: 'SET n = :n, gsi1pk = :pk, gsi1sk = :sk',
      ExpressionAttributeValues: { ':n': { N: `${n}` }, ':pk': { S: 'pair' }, ':sk': { S: `${n}` } }
    }
  }))
  return client.send(new TransactWriteItemsCommand({ TransactItems: updates }))
}

/** A write of its own to an item that a transaction is writing. */
const writeOne = (client: DynamoDBClient, Key: Item): Promise<unknown> =>
  client.send(
    new UpdateItemCommand({
      TableName,
      Key,
      UpdateExpression: 'ADD singles :one',
      ExpressionAttributeValues: { ':one': { N: '1' } }
    })
  )

/** The halves with others between them, which are not there but are looked for: there is time for a write meanwhile. */
const others: Item[] = Array.from({ length: 98 }, (_, i) => ({ pk: { S: 'none' }, sk: { S: `${i}` } }))
const apart = halves.toSpliced(1, 0, ...others)

type Read = (client: DynamoDBClient) => Promise<Item[]>

const ofPair = { TableName, ExpressionAttributeValues: { ':pair': { S: 'pair' } } }

const byQuery: Read = async client =>
  (await client.send(new QueryCommand({ ...ofPair, KeyConditionExpression: 'pk = :pair' }))).Items ?? []

const byIndex: Read = async client => {
  const command = new QueryCommand({ ...ofPair, IndexName: 'gsi1', KeyConditionExpression: 'gsi1pk = :pair' })
  return (await client.send(command)).Items ?? []
}

const byScan: Read = async client => (await client.send(new ScanCommand({ TableName }))).Items ?? []

const byTransaction: Read = async client => {
  const TransactItems = apart.map(Key => ({ Get: { TableName, Key } }))
  const { Responses } = await client.send(new TransactGetItemsCommand({ TransactItems }))
  return Responses?.map(response => response.Item ?? {}) ?? []
}

const byBatch: Read = async client => {
  const command = new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: apart } } })
  return (await client.send(command)).Responses?.[TableName] ?? []
}

/** Kills a writing process again and again: what it was told is stored is stored, and the index agrees with the table. */
export async function killWriters(t: Test, kills: number, upToMs: number) {
  const path = folder(t)
  const acknowledged = new Set<string>()
  for (let run = 0; run < kills; run++) {
    for (const line of await writeUntilKilled(path, run, upToMs)) acknowledged.add(line)
    await checkFolder(t, path, acknowledged)
  }
  t.ok(acknowledged.size > kills, `${acknowledged.size} acknowledged writes`)
}

async function writeUntilKilled(path: string, run: number, upToMs: number): Promise<string[]> {
  const script = fileURLToPath(new URL('./engine-worker.js', import.meta.url))
  const child = spawn(process.execPath, [script, path, `${run}`], { stdio: ['pipe', 'pipe', 'inherit'], env: {} })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout }).on('line', line => lines.push(line))
  const ended = Promise.all([once(child, 'exit'), once(reader, 'close')])
  await Promise.race([once(reader, 'line'), ended])
  await setTimeout(Math.random() * upToMs)
  child.kill('SIGKILL')
  const [[, signal]] = await ended
  if (signal !== 'SIGKILL') throw new Error('The writing process ended by itself')
  return lines
}

async function checkFolder(t: Test, path: string, acknowledged: Set<string>) {
  const { engine, client } = await start(t, { path })
  const table = await all(client)
  const index = await all(client, 'gsi1')
  const missing = [...acknowledged].filter(name => !table.has(name))
  const isIndexed = (item: Item) => item.gsi1pk && item.gsi1sk
  const expected = [...table].filter(([, item]) => isIndexed(item))
  const wrong = expected.filter(([name, item]) => JSON.stringify(index.get(name)) !== JSON.stringify(item))
  const halved = [...table.keys()].filter(name => name.endsWith('a') && !table.has(name.replace(/a$/, 'b')))
  t.strictSame(missing, [], 'no acknowledged write is missing')
  t.strictSame(wrong, [], 'every item is in the index as it is')
  t.equal(index.size, expected.length, 'nothing else is')
  t.strictSame(halved, [], 'no transaction is there by half')
  await engine.close()
}

async function all(client: DynamoDBClient, IndexName?: string): Promise<Map<string, Item>> {
  const items = new Map<string, Item>()
  for await (const { Items } of paginateScan({ client }, { TableName, IndexName })) {
    for (const item of Items ?? []) items.set(`${item.pk?.S} ${item.sk?.S}`, item)
  }
  return items
}
