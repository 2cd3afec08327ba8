import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteItemCommand, DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBRecord } from 'aws-lambda'
import { createTable } from '../src/dynamo/schema.js'
import { tables } from '../src/dynamo/tables.js'
import { type Started, start } from '../test/helpers.js'
import { lambdaRecord, openStream } from '../test/layers-stream-reader.js'
import { anonymous } from '../test/outside.js'
import { startDynamoDBLocal } from './dynamodb-local.js'

/**
 * Records what the stream of the layers table says while layers are published, deprecated, held, deleted and expire, for
 * the tests of the Lambda functions: `npm run record-stream`. DynamoDB Local needs Java, and half a minute for its TTL.
 */
const file = new URL('../../test/fixtures/layers-stream-event.json', import.meta.url)
const REGION = 'us-east-1'
const TTL_MS = 120_000

type Api = Started['api']

async function expectOk(call: ReturnType<Api['get']>): Promise<void> {
  const response = await call
  if (response.statusCode >= 300) throw new Error(`${response.statusCode} ${response.body}`)
}

const content = (name: string, i: number) => ({
  package: name,
  packageVersion: `1.21.${i}`,
  requirementsTxt: `${name}==1.21.${i}\n`
})

async function publish(api: Api, name: string, ...numbers: number[]): Promise<void> {
  for (const i of numbers) {
    const arn = `arn:aws:lambda:${REGION}:770693421928:layer:Klayers-p38-${name}:${i + 10}`
    await expectOk(api.post('/v1/layers', { region: REGION, arn, ...content(name, i) }))
  }
}

/** What the document describes, in its order: builds, layers, deletes; and what only another program would do. */
async function act(api: Api, client: DynamoDBClient): Promise<void> {
  const at = (path: string) => `/v1/layers/${REGION}/${path}`
  const row = (name: string, version: number) => ({
    TableName: 'layers',
    Key: { pk: { S: `lyr#${REGION}.${name}` }, sk: { S: `lyrVrsn#v${version}` } }
  })
  for (const i of [1, 2]) await expectOk(api.post('/v1/builds', content('numpy', i)))
  await publish(api, 'numpy', 1)
  await client.send(
    new UpdateItemCommand({
      ...row('numpy', 1),
      UpdateExpression: 'SET #lock = :lock, parts = :parts, tags = :tags',
      ExpressionAttributeNames: { '#lock': 'lock' },
      ExpressionAttributeValues: {
        ':lock': { B: Uint8Array.of(1, 2, 255) },
        ':parts': { L: [{ M: { digest: { B: Uint8Array.of(254) } } }] },
        ':tags': { SS: ['b', 'a'] }
      }
    })
  )
  await expectOk(api.put(at('numpy/channels/lts'), { version: 1 }))
  await publish(api, 'numpy', 2, 3)
  await expectOk(api.delete(at('numpy/channels/lts')))
  await publish(api, 'pandas', 1, 2)
  await expectOk(api.patch(at('pandas/1'), { expiresAt: null }))
  await client.send(new DeleteItemCommand(row('pandas', 1)))
  await expectOk(api.delete(at('pandas/2?withdraw=true')))
}

const isRemoval = ({ eventName, userIdentity }: DynamoDBRecord) =>
  eventName === 'REMOVE' && userIdentity?.principalId === 'dynamodb.amazonaws.com'

async function record(endpoint: string): Promise<DynamoDBRecord[]> {
  const ends: (() => unknown)[] = []
  const client = new DynamoDBClient({ endpoint, ...anonymous })
  await createTable(client, 'layers', tables.layers)
  const stream = await openStream(endpoint, client, 'layers')
  // A deprecated version expires after two seconds: time enough to undo a deprecation.
  const env = { DYNAMODB: endpoint, LAYER_EXPIRY_DAYS: '0.00003' }
  const { api } = await start({ teardown: action => void ends.push(action) }, { domains: ['layers'], env })
  await act(api, client)
  const records: DynamoDBRecord[] = []
  for (const end = Date.now() + TTL_MS; records.filter(isRemoval).length < 2; await sleep(500)) {
    if (Date.now() > end) throw new Error('TTL has not removed what expired')
    records.push(...(await stream.read()).map(one => lambdaRecord(one, stream.arn)))
  }
  for (const action of ends.reverse()) await action()
  stream.close()
  client.destroy()
  return records
}

const local = await startDynamoDBLocal()
try {
  const Records = await record(local.url)
  writeFileSync(file, `${JSON.stringify({ Records }, null, 2)}\n`)
  console.log(`recorded ${Records.length} records, ${Records.filter(isRemoval).length} of them removals by TTL`)
} finally {
  await local.stop()
}
