// Deletes a partition as programs do without help: `node bulk.mjs document|sequential <endpoint>`. Tells its CPU time and wall time.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BatchWriteCommand, DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb'
import { tableOf } from './items.mjs'

const [way, endpoint] = process.argv.slice(2)
const client = new DynamoDBClient({
  endpoint,
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' }
})
const table = tableOf('quintet')

/** With the document client, 16 batches at once. */
async function document() {
  const docs = DynamoDBDocumentClient.from(client)
  return {
    atOnce: 16,
    query: ExclusiveStartKey =>
      docs.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'pk = :p',
          ExpressionAttributeValues: { ':p': 'PROJECT#benchproj' },
          ProjectionExpression: 'pk, sk',
          ExclusiveStartKey
        })
      ),
    remove: requests => docs.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }))
  }
}

/** With Quintet's own client, one batch after the other. */
async function sequential() {
  const { createDynamo } = await import('../dist/src/dynamo/client.js')
  const { fastSend } = await import('../dist/src/dynamo/fast-client.js')
  const { httpExchange } = await import('../dist/src/dynamo/fast-http.js')
  const { exchange } = httpExchange(client, { connectionTimeout: 2000, requestTimeout: 5000 })
  const dynamo = createDynamo(client, () => {}, fastSend(client, exchange))
  return {
    atOnce: 1,
    query: ExclusiveStartKey =>
      dynamo.request('Query', {
        TableName: table,
        KeyConditionExpression: 'pk = :p',
        ExpressionAttributeValues: { ':p': 'PROJECT#benchproj' },
        ProjectionExpression: 'pk, sk',
        ExclusiveStartKey
      }),
    remove: requests => dynamo.request('BatchWriteItem', { RequestItems: { [table]: requests } })
  }
}

async function run({ query, remove, atOnce }) {
  const running = new Set()
  let start
  do {
    const page = await query(start)
    for (let i = 0; i < page.Items.length; i += 25) {
      const keys = page.Items.slice(i, i + 25).map(Key => ({ DeleteRequest: { Key } }))
      const work = remove(keys).finally(() => running.delete(work))
      running.add(work)
      if (running.size >= atOnce) await Promise.race(running)
    }
    start = page.LastEvaluatedKey
  } while (start)
  await Promise.all(running)
}

const ways = { document, sequential }
const chosen = await ways[way]()
const began = performance.now()
const before = process.cpuUsage()
await run(chosen)
const { user, system } = process.cpuUsage(before)
process.send({ cpu: user + system, ms: performance.now() - began })
