// A database that really stores: dynalite in memory, with a table for each server.
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb'
import dynalite from 'dynalite'
import { projectItem, tableOf, tokenItems } from './items.mjs'

const server = dynalite({ createTableMs: 0 })
server.listen(0, '127.0.0.1', async () => {
  const { port } = server.address()
  const endpoint = `http://127.0.0.1:${port}`
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials })
  for (const variant of process.argv.slice(2)) await fill(client, tableOf(variant))
  client.destroy()
  process.send({ port })
})

async function fill(client, TableName) {
  const keys = ['pk', 'sk']
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: keys.map(AttributeName => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: keys.map((AttributeName, i) => ({ AttributeName, KeyType: i ? 'RANGE' : 'HASH' }))
    })
  )
  const active = async () => (await client.send(new DescribeTableCommand({ TableName }))).Table.TableStatus === 'ACTIVE'
  while (!(await active())) await new Promise(resolve => setTimeout(resolve, 20))
  for (const Item of [projectItem(TableName), ...tokenItems(TableName, 40)])
    await client.send(new PutItemCommand({ TableName, Item }))
}
process.on('disconnect', () => process.exit())
