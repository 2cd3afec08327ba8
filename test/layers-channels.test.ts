import t from 'tap'
import { start, walk } from './helpers.js'
import { at, layerBody, publish, REGION } from './layers-helpers.js'

const NOW = Date.parse('2026-03-01T00:00:00.000Z')
const IN_A_YEAR = '2027-03-01T00:00:00.000Z'

async function begin(t: Parameters<typeof start>[0], versions: number, env?: Record<string, string>) {
  const clock = { now: NOW }
  const started = await start(t, { domains: ['layers'], now: () => clock.now, env })
  await publish(started, versions)
  const point = (name: string, version: number, headers?: Record<string, string>) =>
    started.api.put(at(`/channels/${name}`), { version }, headers)
  const version = async (number: number) => (await started.api.get(at(`/${number}`))).json()
  return { ...started, clock, point, version }
}

t.test('a version that a channel holds does not expire', async t => {
  // The sweep is the embedded engine's.
  const { api, point, version, clock, counted, database } = await begin(t, 3, { EMBEDDED_DATA: 'memory' })
  const first = await counted(() => point('lts', 1))
  t.strictSame(first.requests, ['GetItem', 'TransactWriteItems'])
  t.equal(first.result.statusCode, 201)
  t.equal(first.result.headers.location, '/v1/layers/eu-west-1/requests/channels/lts')
  const shown = {
    name: 'lts',
    region: 'eu-west-1',
    package: 'requests',
    version: 1,
    updatedAt: '2026-03-01T00:00:00.000Z'
  }
  t.strictSame(first.result.json(), shown)
  t.strictSame((await api.get(at('/channels/lts'))).json(), shown)
  t.strictSame((await api.get(at('/channels'))).json(), { items: [shown], cursor: null })
  t.match(await version(1), { status: 'deprecated', channels: ['lts'], expiresAt: undefined })
  clock.now += 400 * 86_400_000
  await database.engine?.sweep()
  t.match(await version(1), { status: 'deprecated' }, 'still there')
  const gone = database.engine ? { status: 'deleted' } : { status: 404 }
  t.match(await version(2), gone, 'which the other is not; in process it comes back as deleted')
})

t.test('a channel that moves lets go: what nothing else keeps begins to expire', async t => {
  const { api, point, version } = await begin(t, 3)
  await point('lts', 1)
  await point('1.x', 1)
  t.equal((await point('lts', 2)).statusCode, 200)
  t.match(await version(1), { channels: ['1.x'], expiresAt: undefined }, 'another channel holds it')
  t.match(await version(2), { channels: ['lts'], expiresAt: undefined })
  t.equal((await api.delete(at('/channels/1.x'))).statusCode, 204)
  t.match(await version(1), { channels: undefined, expiresAt: IN_A_YEAR })
  t.match((await api.delete(at('/channels/1.x'))).json(), { status: 404, code: 'channel-not-found' })
  t.equal((await api.get(at('/channels/1.x'))).statusCode, 404)
  await point('lts', 2)
  t.match(await version(2), { channels: ['lts'] }, 'pointing at the same again changes nothing')
  await point('lts', 3)
  t.match(await version(2), { expiresAt: IN_A_YEAR })
  await api.delete(at('/channels/lts'))
  t.match(await version(3), { status: 'latest', expiresAt: undefined }, 'the latest never expires')
})

t.test('a held version that is overtaken is deprecated without an end', async t => {
  const { api, point, version, counted } = await begin(t, 1)
  await point('stable', 1)
  const { requests, result } = await counted(() => api.post('/v1/layers', layerBody()))
  t.strictSame(requests, ['GetItem', 'TransactWriteItems', 'TransactWriteItems'], 'one more, as the row is held')
  t.equal(result.json().version, 2)
  t.match(await version(1), { status: 'deprecated', channels: ['stable'], expiresAt: undefined })
})

t.test('a held version cannot be deleted, nor be given an end', async t => {
  const { api, point, version } = await begin(t, 2)
  await point('lts', 1)
  await point('next', 2)
  t.match((await api.delete(at('/1'))).json(), { status: 409, code: 'layer-in-channel', detail: /lts/ })
  t.match((await api.delete(at('/2?withdraw=true'))).json(), { status: 409, code: 'layer-in-channel' })
  const { etag } = (await api.get(at('/1'))).headers
  const unchanged = await api.delete(at('/1'), { 'if-match': etag as string })
  t.match(unchanged.json(), { code: 'layer-in-channel' }, 'although it is what the caller has seen')
  t.match((await api.patch(at('/1'), { expiresAt: IN_A_YEAR })).json(), { code: 'layer-in-channel' })
  t.match(await version(1), { status: 'deprecated' })
})

t.test('channels that cannot be', async t => {
  const { api, point } = await begin(t, 1)
  t.match((await point('latest', 1)).json(), { status: 400, errors: [{ path: 'params/name' }] })
  t.match((await point('lts', 2)).json(), { status: 404, code: 'layer-not-found' })
  t.equal((await api.get(at('/channels/lts'))).statusCode, 404, 'and was not made')
  for (const name of ['a%23b', '%20', '-x']) t.equal((await point(name, 1)).statusCode, 400, name)
  t.equal((await api.put(at('/channels/lts'), { version: 0 })).statusCode, 400)
  t.equal((await api.put(at('/channels/lts'), { version: '1' })).statusCode, 400, 'nothing is coerced')
  await publish({ api }, 1)
  await api.delete(at('/1'))
  t.match((await point('lts', 1)).json(), { code: 'layer-not-found' }, 'a deleted version is not to be had')
})

t.test('conditions on a channel', async t => {
  const { api, point } = await begin(t, 2)
  t.equal((await point('lts', 1, { 'if-match': '*' })).statusCode, 412)
  const made = await point('lts', 1, { 'if-none-match': '*' })
  t.equal(made.statusCode, 201)
  t.equal((await point('lts', 2, { 'if-none-match': '*' })).statusCode, 412)
  const tag = made.headers.etag as string
  t.equal((await point('lts', 2, { 'if-match': tag })).statusCode, 200)
  t.equal((await point('lts', 1, { 'if-match': tag })).statusCode, 412)
  t.equal((await api.delete(at('/channels/lts'), { 'if-match': tag })).statusCode, 412)
  t.equal((await api.delete(at('/channels/lts'), { 'if-match': '*' })).statusCode, 204)
})

t.test('of many who have seen the same channel, one changes it', async t => {
  const { api, point, clock, shuffled } = await begin(t, 2)
  const { headers } = await point('lts', 1)
  const seen = { 'if-match': headers.etag as string }
  clock.now += 1000
  const answers = await shuffled(() => Promise.all(Array.from({ length: 8 }, () => point('lts', 1, seen))))
  // All point at the version that it is at already: what has changed after the first of them is the time alone.
  t.strictSame(answers.map(answer => answer.statusCode).sort(), [200, 412, 412, 412, 412, 412, 412, 412])
  t.equal((await api.delete(at('/channels/lts'), seen)).statusCode, 412)
})

t.test('channels moved by many at once hold exactly what they point at', async t => {
  const { api, point, raw } = await begin(t, 4)
  const moves = Array.from({ length: 24 }, (_, i) => point(['a', 'b', 'c'][i % 3] as string, (i % 4) + 1))
  const answers = await Promise.all(moves)
  t.ok(answers.every(answer => answer.statusCode < 300))
  const channels = await walk(api, at('/channels'))
  const rows = (await raw.query('layers', 'lyr#eu-west-1.requests')).filter(row =>
    String(row.sk).startsWith('lyrVrsn#')
  )
  for (const row of rows) {
    const holders = channels.filter(channel => channel.version === row.lyrVrsn).map(channel => channel.name)
    t.strictSame([...((row.chnls as Set<string>) ?? [])].sort(), holders, `version ${row.lyrVrsn}`)
    t.equal('exDt' in row, row.dplySts === 'deprecated' && holders.length === 0)
  }
})

t.test('attributes that others stored in another type keep nobody waiting', async t => {
  const { api, raw, counted } = await begin(t, 0)
  const pk = (name: string) => `lyr#${REGION}.${name}`
  const strange: Record<string, Record<string, unknown>> = {
    text: { chnls: 'lts' },
    numbers: { chnls: new Set([1]) },
    list: { chnls: ['lts'] },
    kept: { kept: 'forever', chnls: new Set(['lts']) },
    expiry: { exDt: 'soon', chnls: new Set(['lts']) }
  }
  for (const [name, more] of Object.entries(strange)) {
    const item = { pk: pk(name), rgn: REGION, pckg: name, lyrVrsn: 1 }
    await raw.put('layers', { ...item, sk: 'lyrVrsn0#' })
    await raw.put('layers', { ...item, sk: 'lyrVrsn#v1', dplySts: 'latest', ...more })
    await raw.put('layers', { ...item, sk: 'chnl#lts', chnl: 'lts', uptdDt: 'x' })
    const published = await counted(() => api.post('/v1/layers', layerBody({ package: name })))
    t.equal(published.result.statusCode, 201, name)
    t.ok(published.requests.length <= 4, `${name}: ${published.requests}`)
    const ended = await counted(() => api.delete(`/v1/layers/${REGION}/${name}/channels/lts`))
    t.equal(ended.result.statusCode, 204, name)
    t.ok(ended.requests.length <= 6, `${name}: ${ended.requests}`)
    t.match(await raw.get('layers', pk(name), 'lyrVrsn#v1'), { dplySts: 'deprecated', exDt: Number }, name)
  }
  const row = await raw.get('layers', pk('expiry'), 'lyrVrsn#v1')
  await raw.put('layers', { ...row, exDt: 'soon' })
  const pointed = await api.put(`/v1/layers/${REGION}/expiry/channels/lts`, { version: 1 })
  t.equal(pointed.statusCode, 201, 'an expiry that is no time is none')
})

t.test('a deprecation is undone, and can be set again', async t => {
  const { api, point, version, counted } = await begin(t, 3)
  const { requests, result } = await counted(() => api.patch(at('/1'), { expiresAt: null }))
  t.strictSame(requests, ['UpdateItem'])
  t.match(result.json(), { version: 1, status: 'deprecated', expiresAt: undefined })
  await point('lts', 1)
  await point('lts', 2)
  t.match(await version(1), { expiresAt: undefined }, 'a channel that came and went does not end it')
  const later = '2030-01-01T00:00:00.000Z'
  t.match((await api.patch(at('/1'), { expiresAt: later })).json(), { expiresAt: later })
  t.match((await api.patch(at('/3'), { expiresAt: null })).json(), { status: 409, code: 'layer-not-deprecated' })
  t.match((await api.patch(at('/1'), { expiresAt: '2020-01-01T00:00:00Z' })).json(), { status: 400 })
  for (const body of [{}, { expiresAt: 7 }, { expiresAt: 'soon' }, { status: 'latest' }]) {
    t.equal((await api.patch(at('/1'), body)).statusCode, 400)
  }
  await api.patch(at('/1'), { expiresAt: null })
  t.equal((await api.delete(at('/1'))).statusCode, 204, 'by hand it still goes')
  t.equal((await api.patch(at('/1'), { expiresAt: null })).statusCode, 404)
  t.match((await api.get(at('/latest'))).json(), { version: 3 }, 'latest did not move')
})
