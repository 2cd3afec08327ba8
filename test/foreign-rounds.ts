import { type AttributeValue, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import type { Test as TapTest } from 'tap'
import { type Domain, keyNames, type TableId, tables } from '../src/dynamo/tables.js'
import { hashSecret, presentToken } from '../src/services/tokens.js'
import { requestTo, shapesOf } from './fuzz-rounds.js'
import { type Started, start } from './helpers.js'
import { type ItemCase, NOW } from './items/case.js'
import { hostingItems } from './items/hosting.js'
import { layerItems } from './items/layers.js'
import { projectItems } from './items/projects.js'
import { realtimeItems } from './items/realtime.js'
import { tenantItems } from './items/tenants.js'
import { type Document, operationsOf } from './openapi-document.js'

/** Items with documented keys whose attributes are missing or of any type, and every route of their domain on them. */

type Item = Record<string, unknown>
interface Planted {
  table: TableId
  item: Record<string, AttributeValue>
}

const alias = { HostnameRev: 'com.example.docs', BasePath: '/v1' }
const changeId = '2026-01-01T00:00:00.000Z#0001'
const secret = 'x'.repeat(43)

/** What we store beside the documents' items. */
const ours: Partial<Record<Domain, [TableId, Item][]>> = {
  hosting: [
    [
      'aliases',
      {
        PK: 'HISTORY#com.example.docs#/v1',
        SK: changeId,
        ...alias,
        ChangeId: changeId,
        Action: 'created',
        ChangeDate: ''
      }
    ],
    ['aliases', { PK: 'ENDED', SK: 'com.example.docs#/v1', ...alias, ChangeId: changeId }]
  ],
  layers: [
    ['layers', { pk: 'lyr#us-east-1.numpy', sk: 'chnl#lts', rgn: 'us-east-1', pckg: 'numpy', chnl: 'lts', lyrVrsn: 9 }]
  ],
  projects: [
    [
      'projects',
      {
        pk: 'PROJECT#myproj',
        sk: 'TOKEN#tkn-live',
        created_at: '2026-01-01T00:00:00Z',
        expires_at: '2099-01-01T00:00:00Z',
        hashed_token: hashSecret(secret)
      }
    ]
  ],
  realtime: [['realtime', { pk: 'email#ann@example.com', sk: 'email#ann@example.com', userId: 'ann', email: 'x' }]]
}

/** The names under which requests find the items. */
const known: Record<Domain, Record<string, unknown[]>> = {
  hosting: {
    deploymentId: ['dep-1', 'dep-0'],
    hostname: ['docs.example.com'],
    basePath: ['/v1', '/v2/x'],
    path: ['/v1/page'],
    target: ['dep-1', 'dep-0'],
    changeId: [changeId]
  },
  layers: { region: ['us-east-1'], package: ['numpy'], version: [8, 9, 10], name: ['lts', 'new'] },
  tenants: { tenantId: ['032400-000000-0000-0002'], version: ['0.1.18', '0.1.12'] },
  projects: {
    name: ['myproj'],
    tokenId: ['tkn-123', 'tkn-live'],
    target: ['mytarget', 'textual', 'nameless'],
    token: [presentToken({ project: 'myproj', tokenId: 'tkn-live', secret })]
  },
  realtime: { name: ['foo', 'bare'], connectionId: ['conn-1234'], userId: ['ann'], email: ['ann@example.com'] }
}

const oddValues: AttributeValue[] = [
  { S: '' },
  { S: '7' },
  { S: 'not what was meant' },
  { S: '{"a":1}' },
  { N: '0' },
  { N: '-1.5' },
  { N: '4102444800' },
  { N: '1e100' },
  { N: '12345678901234567890123456789012345678' },
  { BOOL: true },
  { NULL: true },
  { L: [] },
  { L: [{ N: '1' }, { M: {} }] },
  { M: {} },
  { M: { a: { SS: ['x'] }, b: { M: { c: { NULL: true } } } } },
  { SS: ['x', 'y'] },
  { NS: ['1', '2.5'] },
  { B: new Uint8Array([0, 255]) },
  { BS: [new Uint8Array([1])] }
]

/** An item with some of its attributes gone or of another type; keys of indexes can only be absent, or other text. */
function mistyped(table: TableId, item: Item): fc.Arbitrary<Planted> {
  const { hash, range } = tables[table]
  const keys = keyNames(tables[table])
  const attributes = Object.entries(marshall(item)).map(([name, value]) => {
    if (name === hash || name === range) return fc.constant([name, value] as const)
    const others = keys.includes(name) ? [{ S: 'other' }, { S: 'status#subscribed#x' }] : oddValues
    return fc
      .oneof(
        { weight: 3, arbitrary: fc.constant(value) },
        { weight: 1, arbitrary: fc.constant(undefined) },
        { weight: 3, arbitrary: fc.constantFrom(...others) }
      )
      .map(chosen => [name, chosen] as const)
  })
  return fc.tuple(...attributes).map(entries => ({
    table,
    item: Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Record<string, AttributeValue>
  }))
}

/** The documents' items of a domain, each once, and ours; some attributes of ours appear only in what we write. */
function itemsOf(domain: Domain): [TableId, Item][] {
  const cases: ItemCase[] = [...hostingItems, ...layerItems, ...tenantItems, ...projectItems, ...realtimeItems]
  const all = cases
    .filter(one => one.domain === domain)
    .flatMap(({ table, document }) => document.map(item => [table, item] as [TableId, Item]))
  const byKey = new Map(
    all.map(([table, item]) => [JSON.stringify(keyOf(table, item)), [table, item] as [TableId, Item]])
  )
  return [...byKey.values(), ...(ours[domain] ?? [])].map(([table, item]) => [table, { ...extra[table], ...item }])
}

/** Attributes that only some items of a table have: a strange program may have put them on any. */
const extra: Partial<Record<TableId, Item>> = {
  aliases: { LastAlias: 'x' },
  layers: { exDt: 4102444800, kept: true, chnls: new Set(['lts']), deleted_date: 'x' },
  tenants: { RetryCount: 1, Input: '{}', Reason: 'x' },
  realtime: { ttl: 4102444800, version: 3, updatedAt: 'x', connectedAt: 'x', unsubscribedAt: 1, reason: 'x' }
}

const keyOf = (table: TableId, item: Item) => [table, item[tables[table].hash], item[tables[table].range]]

/** Sends `runs` requests to each operation of a domain, each to items planted anew: never our fault. */
export async function serveMistyped(t: TapTest, domain: Domain, runs: number, seed: number): Promise<void> {
  const started = await start(t, { domains: [domain], now: () => NOW })
  const { app } = started
  started.database.engine?.startSweeper(3_600_000)
  await app.ready()
  const document = app.swagger() as unknown as Document
  const assertDocumented = shapesOf(document)
  const items = fc.tuple(...itemsOf(domain).map(([table, item]) => mistyped(table, item)))
  const answers = new Map<number, number>()
  for (const { path, method, operation } of operationsOf(document)) {
    const requests = requestTo({ ...document, known: known[domain] }, path, method, operation)
    const property = fc.asyncProperty(items, requests, async (planted, request) => {
      await plant(started, planted)
      // A tag is only worth something if it is that of what stands there.
      if (request.headers['if-match']) {
        const { headers } = await app.inject({ method: 'GET', url: request.url })
        request.headers['if-match'] = String(headers.etag ?? '*')
      }
      const answer = await app.inject(request as InjectOptions)
      const status = answer.statusCode
      answers.set(status, (answers.get(status) ?? 0) + 1)
      const said = `${request.method} ${request.url} ${request.payload} gave ${status} ${answer.body}`
      if (status >= 500 && answer.json().code !== 'provisioning-failed') throw new Error(said)
      assertDocumented(operation, answer, said)
    })
    await fc.assert(property, { numRuns: runs, seed })
  }
  t.ok((answers.get(200) ?? 0) > runs, JSON.stringify([...answers].sort()))
}

async function plant({ raw, config }: Started, planted: Planted[]): Promise<void> {
  for (const { table, item } of planted) {
    await raw.client.send(new PutItemCommand({ TableName: config.tables[table], Item: item }))
  }
}
