import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CreateTableCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Test } from 'tap'
import { type Engine, type EngineOptions, openEngine } from '../src/dynamo/engine/index.js'

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }

/** Whether the tests run against DynamoDB Local; where it differs is listed in docs/engines.md. */
export const isLocal = process.env.TEST_DYNAMODB !== undefined

/** The real AWS client, on an engine of this process or on an endpoint. */
export const connect = (to: Engine | string, accessKeyId = 'test') =>
  new DynamoDBClient({
    region: 'us-east-1',
    credentials: { ...credentials, accessKeyId },
    maxAttempts: 1,
    ...(typeof to === 'string' ? { endpoint: to } : { requestHandler: to.requestHandler() })
  })

/**
 * An engine and its client, for one test. Where TEST_DYNAMODB names another engine, a test without options is about
 * what any DynamoDB does and runs there, in a database of its own: DynamoDB Local keeps one for each access key.
 */
export async function start(t: Test, options?: EngineOptions) {
  if (process.env.TEST_DYNAMODB && !options) return startOutside(t, process.env.TEST_DYNAMODB)
  const engine = await openEngine(options)
  const client = connect(engine)
  t.teardown(() => engine.close())
  return { engine, client }
}

function startOutside(t: Test, url: string) {
  const client = connect(url, randomBytes(10).toString('hex'))
  t.teardown(() => client.destroy())
  return {
    client,
    get engine(): Engine {
      throw new Error('a test that uses the engine itself starts it with options')
    }
  }
}

/** A folder that goes with the test. */
export function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'quintet-engine-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A table of pk and sk with one index, `gsi1`, of gsi1pk and gsi1sk. */
export const pairs = (TableName = 'pairs'): CreateTableCommandInput => ({
  TableName,
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: ['pk', 'sk', 'gsi1pk', 'gsi1sk'].map(AttributeName => ({ AttributeName, AttributeType: 'S' })),
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' }
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: 'gsi1',
      KeySchema: [
        { AttributeName: 'gsi1pk', KeyType: 'HASH' },
        { AttributeName: 'gsi1sk', KeyType: 'RANGE' }
      ],
      Projection: { ProjectionType: 'ALL' }
    }
  ]
})

/** A table with a key of one attribute, `id`. */
export const plain = (TableName = 'plain'): CreateTableCommandInput => ({
  TableName,
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }]
})
