import { once } from 'node:events'
import { type ClientRequestArgs, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { marshall } from '@aws-sdk/util-dynamodb'
import t from 'tap'
import { type Started, start } from './helpers.js'
import { answer, refuse, standIn } from './stand-in.js'

/** More than DynamoDB gives in one page: 1 MB. */
const TARGETS = 60
const TOKENS = 5000
const pad = (i: number) => String(i).padStart(5, '0')
const metadata = { pk: 'PROJECT#large1', sk: 'METADATA', repository: 'https://github.com/example/large' }
const target = (i: number) => ({
  pk: 'PROJECT#large1',
  sk: `TARGET#target${pad(i)}`,
  name: `target${pad(i)}`,
  type: 'x',
  properties: { text: 'ü'.repeat(10_000), nothing: null }
})
const token = (i: number) => ({
  pk: 'PROJECT#large1',
  sk: `TOKEN#tkn-${pad(i)}`,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2099-01-01T00:00:00.000Z',
  hashed_token: 'f'.repeat(64)
})
const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i))

async function large(t: Parameters<typeof start>[0]): Promise<Started> {
  const started = await start(t, { domains: ['projects'] })
  await started.raw.putAll('projects', [metadata, ...many(TARGETS, target), ...many(TOKENS, token)])
  return started
}

/** The answer over a real connection, where trailers and breaks can be seen. */
async function open({ app }: Started, headers: ClientRequestArgs['headers'] = {}): Promise<IncomingMessage> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const request = get({ port, host: '127.0.0.1', path: '/v1/projects/large1/overview', headers })
  const [response] = await once(request, 'response')
  return response
}

t.test('a large overview is sent page by page, and its tag comes last', async t => {
  const started = await large(t)
  const { result, requests } = await started.counted(async () => {
    const response = await open(started)
    return { response, body: await text(response) }
  })
  const { response, body } = result
  t.equal(response.statusCode, 200)
  t.match(response.headers, { 'content-type': 'application/json; charset=utf-8', trailer: 'etag' })
  t.ok(requests.length > 1, `${requests.length} pages`)
  t.strictSame([...new Set(requests)], ['Query'])

  const overview = JSON.parse(body)
  t.strictSame(overview.project, { name: 'large1', repository: metadata.repository })
  t.strictSame(
    overview.targets,
    many(TARGETS, target).map(({ name, type, properties }) => ({ name, type, properties }))
  )
  t.strictSame(
    overview.tokens,
    many(TOKENS, token).map(item => ({
      tokenId: item.sk.slice('TOKEN#'.length),
      createdAt: item.created_at,
      expiresAt: item.expires_at,
      active: true
    }))
  )

  const etag = String(response.trailers.etag)
  t.match(etag, /^"[\w-]{27}"$/)
  const known = await open(started, { 'if-none-match': etag })
  t.equal(known.statusCode, 304, 'the tag of the trailer is the tag of the whole')
  t.equal(await text(known), '')
  await started.raw.put('projects', { ...token(3), expires_at: '2098-01-01T00:00:00.000Z' })
  const changed = await open(started, { 'if-none-match': etag })
  t.equal(changed.statusCode, 200)
  t.not(changed.headers.etag, etag)
  t.equal(JSON.parse(await text(changed)).tokens.length, TOKENS)
})

t.test('a list that ends with a page has its brackets', async t => {
  for (const [targets, tokens] of [
    [TARGETS, 0],
    [0, TOKENS]
  ] as const) {
    const started = await start(t, { domains: ['projects'] })
    await started.raw.putAll('projects', [metadata, ...many(targets, target), ...many(tokens, token)])
    const response = await open(started)
    const overview = JSON.parse(await text(response))
    t.equal(overview.targets.length, targets)
    t.equal(overview.tokens.length, tokens)
    t.equal(
      (await open(started, { 'if-none-match': String(response.trailers.etag ?? response.headers.etag) })).statusCode,
      304
    )
  }
})

t.test('an overview that cannot be read to its end breaks off, and is not taken for a whole one', async t => {
  const first = {
    Items: [marshall(metadata), marshall(token(1))],
    LastEvaluatedKey: { pk: { S: 'a' }, sk: { S: 'b' } }
  }
  const { asked, endpoint } = await standIn(t, ({ target }, n, response) => {
    if (target === 'DescribeTable') return refuse(response, 'ResourceNotFoundException')
    return n === 1 ? answer(response, 200, first) : refuse(response, 'AccessDeniedException')
  })
  const started = await start(t, { domains: ['projects'], env: { DYNAMODB: endpoint } })
  const response = await open(started)
  t.equal(response.statusCode, 200)
  await t.rejects(text(response), { code: 'ECONNRESET' })
  t.equal(asked.length, 2)
})
