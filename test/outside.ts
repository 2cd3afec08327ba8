import { randomBytes } from 'node:crypto'
import { DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Config } from '../src/config.js'
import type { Observer } from '../src/dynamo/client.js'
import { type Database, openDatabase } from '../src/dynamo/database.js'
import type { Dispatch } from '../src/dynamo/engine/dispatch.js'
import { createTable } from '../src/dynamo/schema.js'
import { type TableNames, tables, tablesOf } from '../src/dynamo/tables.js'
import type { StartOptions, Test } from './helpers.js'

/** The same tests on another DynamoDB, which `npm run test:conformance` starts and names in TEST_DYNAMODB. */

/** The endpoint that a test is to use; none where the test itself says where its data is. */
export function outsideEndpoint(env: Record<string, string> = {}): string | undefined {
  const isAboutPlace = ['DYNAMODB', 'EMBEDDED_DATA', 'EMBEDDED_PORT'].some(name => name in env)
  return isAboutPlace ? undefined : process.env.TEST_DYNAMODB
}

/** Options of a test that kills or reopens the embedded engine: on another DynamoDB it would only be run twice. */
export const aboutEmbedded = { skip: process.env.TEST_DYNAMODB ? 'about the embedded engine' : false } as const

/** Credentials of an engine that asks for none, but finds tables by them. */
export const anonymous = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }

/** What answers a test's requests, for a door to be put before it: its embedded engine, or the endpoint. */
export const dispatchOf = ({ engine }: Database): Dispatch => engine?.handle ?? forward

/** DynamoDB Local finds tables by the access key, and does not look at the signature. */
const AUTHORIZATION =
  'AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none'

const forward: Dispatch = async (target, body) => {
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    authorization: AUTHORIZATION,
    ...(target ? { 'x-amz-target': target } : {})
  }
  const answer = await fetch(String(process.env.TEST_DYNAMODB), { method: 'POST', headers, body })
  return { status: answer.status, body: await answer.text() }
}

/** Names that no other test uses, by the variables that set them. */
export function freshNames(): Record<string, string> {
  const mark = randomBytes(6).toString('hex')
  return Object.fromEntries(Object.values(tables).map(table => [table.variable, `${table.defaultName}-${mark}`]))
}

/**
 * The app's tables, created at the endpoint and dropped with the test. Only the database is exchanged: the app is
 * configured as for the embedded engine, stand-ins of other services included. Where a test holds the clock still,
 * TTL is off, since the endpoint's own clock would delete what has not yet expired for the test.
 */
export async function openOutside(
  t: Test,
  url: string,
  config: Config,
  observe: Observer,
  now: StartOptions['now']
): Promise<Database> {
  const client = new DynamoDBClient({ endpoint: url, ...anonymous })
  const mine = tablesOf(config.domains).map(([id, table]) => ({ name: config.tables[id as keyof TableNames], table }))
  for (const { name, table } of mine) await createTable(client, name, now ? { ...table, ttl: undefined } : table)
  t.teardown(async () => {
    for (const { name } of mine) {
      await client.send(new DeleteTableCommand({ TableName: name })).catch(error => {
        if (error.name !== 'ResourceNotFoundException') throw error
      })
    }
    client.destroy()
  })
  return openDatabase({ ...config, dynamodb: { kind: 'endpoint', url, anonymous: true } }, observe, now)
}
