import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { start, walk } from './helpers.js'
import { arn, at, layerBody, publish, REGION, sha256 } from './layers-helpers.js'

const NOW = Date.parse('2026-03-01T00:00:00.000Z')
const YEAR = 365 * 86_400_000
const begin = (t: Parameters<typeof start>[0], now = () => NOW) => start(t, { domains: ['layers'], now })
const versions = (items: Record<string, unknown>[]) => items.map(item => item.version)

t.test('publishing takes two requests, and deprecates the version before', async t => {
  const { api, counted } = await begin(t)
  const first = await counted(() => api.post('/v1/layers', layerBody()))
  t.strictSame(first.requests, ['GetItem', 'TransactWriteItems'])
  t.equal(first.result.statusCode, 201)
  t.equal(first.result.headers.location, '/v1/layers/eu-west-1/requests/1')
  t.strictSame(first.result.json(), {
    ...layerBody(),
    version: 1,
    requirementsHash: sha256('requests==2.32.3\n'),
    status: 'latest',
    createdAt: '2026-03-01T00:00:00.000Z'
  })
  const second = await counted(() => api.post('/v1/layers', layerBody({ arn: arn(7) })))
  t.strictSame(second.requests, ['GetItem', 'TransactWriteItems'])
  t.match(second.result.json(), { version: 2, status: 'latest' })
  const old = await counted(() => api.get(at('/1')))
  t.strictSame(old.requests, ['GetItem'])
  t.match(old.result.json(), { status: 'deprecated', expiresAt: new Date(NOW + YEAR).toISOString() })
  const latest = await counted(() => api.get(at('/latest')))
  t.strictSame(latest.requests, ['GetItem'])
  t.match(latest.result.json(), { version: 2, arn: arn(7), status: 'latest', expiresAt: undefined })
  t.match((await api.get(at('/latest'), { 'if-none-match': latest.result.headers.etag as string })).statusCode, 304)
})

t.test('what cannot be published', async t => {
  const { api, raw } = await begin(t)
  const refused: [string, Record<string, unknown>, string][] = [
    ['a region', { region: 'eu-west-1.requests', arn: arn(1) }, 'body/region'],
    ['no region', { region: 'Europe', arn: arn(1) }, 'body/region'],
    ['a package', { package: 'a#b' }, 'body/package'],
    ['an empty package', { package: '' }, 'body/package'],
    ['a package that ends in a dash', { package: 'requests-' }, 'body/package'],
    ['a package with odd letters', { package: 'requêtes' }, 'body/package'],
    ['an ARN without a version', { arn: 'arn:aws:lambda:eu-west-1:123456789012:layer:requests' }, 'body/arn'],
    ['an ARN of another region', { arn: arn(1, 'requests', 'us-east-1') }, 'body/arn'],
    ['an ARN of something else', { arn: 'arn:aws:s3:::bucket' }, 'body/arn'],
    ['a hash of another text', { requirementsHash: sha256('other') }, 'body/requirementsHash'],
    ['no hash', { requirementsHash: 'abc' }, 'body/requirementsHash'],
    ['a version of their own', { version: 7 }, 'body/version'],
    ['a status', { status: 'latest' }, 'body/status'],
    ['a number for a text', { packageVersion: 2 }, 'body/packageVersion'],
    ['a line break in a version', { packageVersion: '2\n3' }, 'body/packageVersion']
  ]
  for (const [what, more, path] of refused) {
    const response = await api.post('/v1/layers', layerBody(more))
    t.equal(response.statusCode, 400, what)
    const paths = response.json().errors.map((error: { path: string }) => error.path)
    t.strictSame([...new Set(paths)], [path], what)
  }
  t.match((await api.post('/v1/layers')).json().errors.length, 5, 'each missing field is named')
  t.strictSame(await raw.all('layers'), [], 'nothing was written')
})

t.test('a hash may be sent, in either case, and extras are dropped everywhere', async t => {
  const { api, raw } = await begin(t)
  const text = '# nothing\r\n'
  const requirementsHash = sha256(text).toUpperCase()
  const body = layerBody({ package: 'requests [socks, security]', requirementsTxt: text, requirementsHash })
  const response = await api.post('/v1/layers', body)
  t.match(response.json(), { package: 'requests', requirementsHash: sha256(text) })
  t.equal((await api.get(`/v1/layers/${REGION}/requests%5Bsocks%5D/latest`)).statusCode, 200)
  t.strictSame(
    (await raw.all('layers')).map(item => item.pckg),
    ['requests', 'requests']
  )
})

t.test('versions are listed by number, newest first, page by page', async t => {
  const { api, counted, raw, config } = await begin(t)
  await publish({ api }, 23)
  const all = Array.from({ length: 23 }, (_, i) => 23 - i)
  t.strictSame(versions(await walk(api, at('?limit=4'))), all)
  t.strictSame(versions(await walk(api, at(''))), all)
  const first = await counted(() => api.get(at('?limit=10')))
  t.strictSame(first.requests, ['GetItem', 'BatchGetItem'])
  t.match(first.result.headers.link, /rel="next"/)
  const { cursor } = first.result.json()
  await publish({ api }, 1)
  const second = await counted(() => api.get(at(`?limit=10&cursor=${cursor}`)))
  t.strictSame(second.requests, ['BatchGetItem'])
  t.strictSame(versions(second.result.json().items), all.slice(10, 20), 'a version published meanwhile moves nothing')
  const others = [at(`?status=latest&cursor=${cursor}`), `/v1/layers/us-east-1/requests?cursor=${cursor}`]
  for (const url of [...others, at('?cursor=abc')]) t.match((await api.get(url)).json(), { code: 'invalid-cursor' })

  t.strictSame(versions(await walk(api, at('?status=latest'))), [24])
  await api.delete(at('/20'))
  await api.delete(at('/3'))
  t.strictSame(versions(await walk(api, at('?status=deleted&limit=1'))), [20, 3])
  t.strictSame(versions(await walk(api, at('?status=deprecated&limit=7'))).length, 21)
  t.equal((await counted(() => api.get(at('?status=deleted')))).requests.length, 2)
  t.match((await api.get(at('?status=gone'))).json(), { status: 400, errors: [{ path: 'query/status' }] })

  const Key = { pk: { S: 'lyr#eu-west-1.requests' }, sk: { S: 'lyrVrsn#v22' } }
  await raw.client.send(new DeleteItemCommand({ TableName: config.tables.layers, Key }))
  t.strictSame(
    versions(await walk(api, at('?limit=3'))),
    [24, 23, ...all.slice(2)],
    'a row that is missing is passed over'
  )
})

t.test('what never was is 404', async t => {
  const { api } = await begin(t)
  for (const url of [at(''), at('/latest'), at('/1'), at('/9007199254740991')]) {
    t.match((await api.get(url)).json(), { status: 404, code: 'layer-not-found' }, url)
  }
  t.match((await api.delete(at('/1'))).json(), { code: 'layer-not-found' })
  t.match((await api.delete(at('/1?withdraw=true'))).json(), { code: 'layer-not-found' })
  t.match((await api.patch(at('/1'), { expiresAt: null })).json(), { code: 'layer-not-found' })
  for (const url of [
    at('/0'),
    at('/1.5'),
    at('/v1'),
    '/v1/layers/eu-west-1.x/requests/latest',
    at('/9007199254740993')
  ]) {
    t.equal((await api.get(url)).statusCode, 400, url)
  }
  t.equal((await api.get('/v1/layers/eu-west-1/a%23b/latest')).statusCode, 400)
  t.strictSame((await api.get('/v1/packages/unknown/layers')).json(), { items: [], cursor: null })
  t.strictSame((await api.get('/v1/regions/eu-west-1/layers')).json(), { items: [], cursor: null })
})

t.test('a deleted version keeps its row; the latest is refused', async t => {
  const { api, counted, raw } = await begin(t)
  await publish({ api }, 3)
  const { requests, result } = await counted(() => api.delete(at('/1')))
  t.strictSame([requests, result.statusCode], [['UpdateItem'], 204])
  t.match((await api.get(at('/1'))).json(), { status: 'deleted', deletedAt: new Date(NOW).toISOString(), arn: arn(1) })
  t.equal((await api.get(at('/1'))).json().expiresAt, undefined)
  t.equal((await api.delete(at('/1'))).statusCode, 404)
  const latest = await counted(() => api.delete(at('/3')))
  t.match([latest.requests, latest.result.json()], [['UpdateItem'], { status: 409, code: 'layer-is-latest' }])
  t.strictSame((await raw.all('layers', 'deployed_in_region')).map(item => item.lyrVrsn).sort(), [2, 3])
})

t.test('a withdrawn latest leaves none, and counting goes on', async t => {
  const { api, counted, raw } = await begin(t)
  await publish({ api }, 2)
  const { requests, result } = await counted(() => api.delete(at('/2?withdraw=true')))
  t.strictSame([requests, result.statusCode], [['TransactWriteItems'], 204])
  t.match((await api.get(at('/latest'))).json(), { status: 404, code: 'layer-not-found' })
  t.strictSame((await api.get('/v1/packages/requests/layers')).json().items, [])
  t.equal((await api.delete(at('/2?withdraw=true'))).statusCode, 404)
  t.strictSame(versions(await walk(api, at(''))), [2, 1], 'the history stays')
  t.equal((await api.delete(at('/1?withdraw=true'))).statusCode, 204, 'one that is not the latest is just deleted')
  const next = await counted(() => api.post('/v1/layers', layerBody()))
  t.strictSame(next.requests, ['GetItem', 'TransactWriteItems'])
  t.equal(next.result.json().version, 3)
  t.match((await api.get(at('/latest'))).json(), { version: 3, deletedAt: undefined })
  t.match((await api.get(at('/2'))).json(), { status: 'deleted' }, 'what was withdrawn is not deprecated')
  t.notOk((await raw.get('layers', 'lyr#eu-west-1.requests', 'lyrVrsn0#'))?.deleted_date)
})

t.test('strays of others: a missing row, a second latest, a row ahead of the pointer', async t => {
  const { api, raw } = await begin(t)
  const pk = 'lyr#eu-west-1.requests'
  const pointer = { pk, rgn: REGION, pckg: 'requests', arn: arn(1) }
  const row = { ...pointer, dplySts: 'latest' }
  await raw.put('layers', { ...pointer, sk: 'lyrVrsn0#', lyrVrsn: 7 })
  t.equal((await api.post('/v1/layers', layerBody())).json().version, 8, 'row 7 need not be there')
  t.equal(await raw.get('layers', pk, 'lyrVrsn#v7'), undefined, 'and is not made')
  await raw.put('layers', { ...row, sk: 'lyrVrsn#v5', lyrVrsn: 5 })
  t.equal((await api.delete(at('/5'))).json().code, 'layer-is-latest')
  t.equal((await api.delete(at('/5?withdraw=true'))).statusCode, 204)
  t.match((await api.get(at('/latest'))).json(), { version: 8 }, 'the pointer is not that one’s')
  await raw.put('layers', { ...row, sk: 'lyrVrsn#v9', lyrVrsn: 9 })
  t.match((await api.post('/v1/layers', layerBody())).json(), { status: 409, code: 'concurrent-changes' })
  t.match(await raw.get('layers', pk, 'lyrVrsn0#'), { lyrVrsn: 8 })
})

t.test('a row that calls itself by another number does not keep a walk going in circles', async t => {
  const { api, raw } = await begin(t)
  await publish({ api }, 4)
  const row = await raw.get('layers', 'lyr#eu-west-1.requests', 'lyrVrsn#v3')
  await raw.put('layers', { ...row, lyrVrsn: 90 })
  const walked = versions(await walk(api, at('?status=deprecated&limit=1')))
  t.strictSame(walked, [90, 90, 2, 1], 'it ends, and passes nothing over')
})

t.test('If-Match is decided in the write', async t => {
  const { api } = await begin(t)
  await publish({ api }, 2)
  const tag = (await api.get(at('/1'))).headers.etag as string
  t.equal((await api.patch(at('/1'), { expiresAt: null }, { 'if-match': '"other"' })).statusCode, 412)
  t.equal((await api.patch(at('/1'), { expiresAt: null }, { 'if-match': tag })).statusCode, 200)
  t.equal((await api.delete(at('/1'), { 'if-match': tag })).statusCode, 412)
  t.equal((await api.delete(at('/1'), { 'if-match': '*' })).statusCode, 204)
  const latest = (await api.get(at('/2'))).headers.etag as string
  t.match((await api.delete(at('/2'), { 'if-match': latest })).json(), { code: 'layer-is-latest' }, 'it is unchanged')
  t.equal((await api.delete(at('/2?withdraw=true'), { 'if-match': latest })).statusCode, 204)
})

t.test('an expired version is gone for readers and writers before TTL has it', async t => {
  const { api, raw } = await begin(t)
  await publish({ api }, 2)
  const row = await raw.get('layers', 'lyr#eu-west-1.requests', 'lyrVrsn#v1')
  // Neither DynamoDB nor the engine deletes what expired more than five years ago, so no sweep comes in between.
  const expired = { ...row, exDt: (NOW - 6 * YEAR) / 1000 }
  await raw.put('layers', expired)
  t.equal((await api.get(at('/1'))).statusCode, 404)
  t.strictSame(versions(await walk(api, at(''))), [2])
  t.strictSame(versions(await walk(api, '/v1/regions/eu-west-1/layers')), [2])
  t.equal((await api.delete(at('/1'))).statusCode, 404)
  t.equal((await api.delete(at('/1?withdraw=true'))).statusCode, 404)
  t.equal((await api.patch(at('/1'), { expiresAt: null })).statusCode, 404)
  t.equal((await api.put(at('/channels/lts'), { version: 1 })).statusCode, 404)
  t.strictSame(await raw.get('layers', 'lyr#eu-west-1.requests', 'lyrVrsn#v1'), expired, 'nothing was changed')
})

t.test('indexes answer in one request a page', async t => {
  const { api, counted } = await begin(t)
  for (const region of ['eu-west-1', 'us-east-1', 'us-gov-west-1']) await publish({ api }, 2, { region })
  await publish({ api }, 1, { package: 'zope.interface' })
  const regions = await counted(() => api.get('/v1/packages/requests/layers?limit=2'))
  t.strictSame(regions.requests, ['Query'])
  const found = await walk(api, '/v1/packages/requests/layers?limit=2')
  t.strictSame(found.map(item => item.region).sort(), ['eu-west-1', 'us-east-1', 'us-gov-west-1'])
  t.ok(found.every(item => item.status === 'latest' && item.version === 2))
  const deployed = await counted(() => api.get('/v1/regions/eu-west-1/layers'))
  t.strictSame(deployed.requests, ['Query'])
  const names = (items: Record<string, unknown>[]) =>
    items.map(item => `${item.package} ${item.version} ${item.status}`).sort()
  const all = ['requests 1 deprecated', 'requests 2 latest', 'zope.interface 1 latest']
  t.strictSame(names(deployed.result.json().items), all)
  t.strictSame(names(await walk(api, '/v1/regions/eu-west-1/layers?limit=1')), all)
  t.strictSame(names(await walk(api, '/v1/regions/eu-west-1/layers?status=deprecated')), all.slice(0, 1))
  t.strictSame(names(await walk(api, '/v1/regions/eu-west-1/layers?status=latest')), all.slice(1))
  t.equal((await api.get('/v1/regions/eu-west-1/layers?status=deleted')).statusCode, 400)
})
