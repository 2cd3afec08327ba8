import { randomBytes } from 'node:crypto'
import {
  type AttributeValue,
  BatchWriteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import type { DynamoRequest } from '../src/dynamo/client.js'
import { type Database, openDatabase } from '../src/dynamo/database.js'
import { type Domain, type TableId, tables } from '../src/dynamo/tables.js'
import { createMetrics } from '../src/plugins/metrics.js'
import { anonymous, freshNames, openOutside, outsideEndpoint } from './outside.js'
import { policing } from './policed.js'
import { shuffling } from './shuffle.js'

type Item = Record<string, unknown>
export interface Test {
  teardown(action: () => unknown): void
}

export interface StartOptions {
  domains?: Domain[]
  /** More variables of the environment. */
  env?: Record<string, string>
  now?: () => number
  /** Lines of the log are pushed here. */
  log?: string[]
}

/** An app on a fresh engine in memory, or on what `env.DYNAMODB` or TEST_DYNAMODB names; ended with the test. */
export async function start(t: Test, options: StartOptions = {}) {
  const outside = outsideEndpoint(options.env)
  const { DYNAMODB_CLIENT } = process.env
  const names = outside ? freshNames() : {}
  const env = { EMBEDDED_DATA: 'memory', LOG_LEVEL: 'debug', DYNAMODB_CLIENT, ...names, ...options.env }
  if (options.env?.DYNAMODB && options.env.DYNAMODB !== 'embedded') delete (env as Partial<typeof env>).EMBEDDED_DATA
  const config = readConfig({ ...env, ...(options.domains ? { DOMAINS: options.domains.join(',') } : {}) })
  const metrics = createMetrics()
  const seen: DynamoRequest[] = []
  const { asked, police } = policing(t, config)
  const observe = (request: DynamoRequest) => {
    police(request)
    metrics.observe(request)
    seen.push(request)
  }
  const opened = outside
    ? await openOutside(t, outside, config, observe, options.now)
    : await openDatabase(config, observe, options.now)
  const { database, shuffled } = shuffling(opened)
  const logger = options.log
    ? { level: 'debug', stream: { write: (line: string) => options.log?.push(line) } }
    : undefined
  const app = await buildApp({ config, database, metrics, logger, now: options.now })
  t.teardown(async () => {
    await app.close()
    await database.close()
  })
  return {
    app,
    config,
    database,
    metrics,
    seen,
    shuffled,
    asked,
    api: callers(app),
    raw: rawAccess(database, config.tables, outside ?? options.env?.DYNAMODB),
    ...counting(seen)
  }
}

export type Started = Awaited<ReturnType<typeof start>>

/** Calls as a client makes them, in process. */
export function callers(app: FastifyInstance, headers: Record<string, string> = {}) {
  const call = (method: InjectOptions['method'], url: string, payload?: unknown, more: Record<string, string> = {}) =>
    app.inject({
      method,
      url,
      headers: { ...headers, ...more },
      ...(payload === undefined ? {} : { payload: payload as InjectOptions['payload'] })
    })
  return {
    call,
    get: (url: string, more?: Record<string, string>) => call('GET', url, undefined, more),
    post: (url: string, body?: unknown, more?: Record<string, string>) => call('POST', url, body, more),
    put: (url: string, body?: unknown, more?: Record<string, string>) => call('PUT', url, body, more),
    patch: (url: string, body?: unknown, more?: Record<string, string>) => call('PATCH', url, body, more),
    delete: (url: string, more?: Record<string, string>) => call('DELETE', url, undefined, more),
    /** The same calls with a bearer token. */
    as: (token: string) => callers(app, { ...headers, authorization: `Bearer ${token}` })
  }
}

/** How many requests DynamoDB got while an action ran. */
function counting(seen: DynamoRequest[]) {
  return {
    async counted<T>(action: () => Promise<T>): Promise<{ result: T; requests: string[] }> {
      const before = seen.length
      const result = await action()
      return { result, requests: seen.slice(before).map(request => request.operation) }
    }
  }
}

/** The tables as the plain SDK sees them. */
function rawAccess({ engine }: Database, names: Record<TableId, string>, endpoint?: string) {
  const send = new DynamoDBClient({
    ...anonymous,
    ...(engine ? { requestHandler: engine.requestHandler() } : { endpoint })
  })
  const keyOf = (table: TableId, hash: string, range: string) => ({
    [tables[table].hash]: hash,
    [tables[table].range]: range
  })
  const plain = (items: Record<string, AttributeValue>[] = []) => items.map(item => unmarshall(item))

  return {
    client: send,
    async put(table: TableId, item: Item): Promise<void> {
      await send.send(new PutItemCommand({ TableName: names[table], Item: marshall(item) }))
    },
    async putAll(table: TableId, items: Item[]): Promise<void> {
      for (let i = 0; i < items.length; i += 25) {
        const requests = items.slice(i, i + 25).map(item => ({ PutRequest: { Item: marshall(item) } }))
        await send.send(new BatchWriteItemCommand({ RequestItems: { [names[table]]: requests } }))
      }
    },
    async get(table: TableId, hash: string, range: string): Promise<Item | undefined> {
      const Key = marshall(keyOf(table, hash, range))
      const { Item } = await send.send(new GetItemCommand({ TableName: names[table], Key, ConsistentRead: true }))
      return Item && unmarshall(Item)
    },
    async query(table: TableId, hash: string): Promise<Item[]> {
      const { Items } = await send.send(
        new QueryCommand({
          TableName: names[table],
          KeyConditionExpression: '#h = :h',
          ExpressionAttributeNames: { '#h': tables[table].hash },
          ExpressionAttributeValues: { ':h': { S: hash } }
        })
      )
      return plain(Items)
    },
    /** Everything of a table, or of one of its indexes, however many pages it has. */
    async all(table: TableId, index?: string): Promise<Item[]> {
      const items: Item[] = []
      let ExclusiveStartKey: Record<string, AttributeValue> | undefined
      do {
        const page = await send.send(new ScanCommand({ TableName: names[table], IndexName: index, ExclusiveStartKey }))
        items.push(...plain(page.Items))
        ExclusiveStartKey = page.LastEvaluatedKey
      } while (ExclusiveStartKey)
      return items
    }
  }
}

/** All pages of a list, walked by its cursor. */
export async function walk(api: ReturnType<typeof callers>, url: string): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const query = cursor === null ? '' : `${url.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`
    const response = await api.get(url + query)
    if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode} ${response.body}`)
    const page = response.json() as { items: Item[]; cursor: string | null }
    items.push(...page.items)
    cursor = page.cursor
  } while (cursor !== null)
  return items
}

/** A name that no other test uses. */
export const unique = (prefix: string) => `${prefix}${randomBytes(6).toString('hex')}`
