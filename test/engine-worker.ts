import {
  CreateTableCommand,
  type DynamoDBClient,
  ListTablesCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand
} from '@aws-sdk/client-dynamodb'
import { openEngine } from '../src/dynamo/engine/index.js'
import { connect, pairs } from './engine-helpers.js'

// Writes to a folder until it is killed, and tells of each write that was acknowledged.
const TableName = 'pairs'
const WRITERS = 8
const [path, run] = process.argv.slice(2) as [string, string]

const tell = (line: string) => process.stdout.write(`${line}\n`)
const index = (n: number) => ({ gsi1pk: { S: `g${n % 5}` }, gsi1sk: { S: 'same' } })
const key = (writer: number, name: string) => ({ pk: { S: `${run}/${writer}` }, sk: { S: name } })

async function write(client: DynamoDBClient, writer: number, n: number): Promise<void> {
  await client.send(new PutItemCommand({ TableName, Item: { ...key(writer, `${n}`), ...index(n) } }))
  tell(`${run}/${writer} ${n}`)
  const move = {
    TableName,
    Key: key(writer, `${n}`),
    UpdateExpression: 'SET gsi1pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: `moved${n % 3}` } }
  }
  const puts = ['a', 'b'].map(half => ({ Put: { TableName, Item: { ...key(writer, n + half), ...index(n + 1) } } }))
  await client.send(new TransactWriteItemsCommand({ TransactItems: [{ Update: move }, ...puts] }))
  for (const half of ['a', 'b']) tell(`${run}/${writer} ${n}${half}`)
  await client.send(new UpdateItemCommand({ TableName, Key: key(writer, `${n}b`), UpdateExpression: 'REMOVE gsi1sk' }))
}

const engine = await openEngine({ path })
const client = connect(engine)
process.stdin.resume().on('end', () => process.exit(1))
const { TableNames } = await client.send(new ListTablesCommand({}))
if (!TableNames?.includes(TableName)) await client.send(new CreateTableCommand(pairs(TableName)))
await Promise.all(
  Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 0; ; n++) await write(client, writer, n)
  })
)
