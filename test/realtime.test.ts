import t from 'tap'
import { disconnectInTheMiddle, subscribeMany } from './campaign/realtime-disconnect.js'
import { start, type Test, walk } from './helpers.js'

const NOW = Date.parse('2026-01-31T12:00:00.500Z')
const SECONDS = Math.floor(NOW / 1000)

async function begin(t: Test, env: Record<string, string> = {}) {
  const clock = { now: NOW }
  const started = await start(t, { domains: ['realtime'], now: () => clock.now, env })
  // Expired items stay stored, as they do for days on AWS.
  started.database.engine?.startSweeper(3_600_000)
  return { ...started, clock }
}

t.test('a state is set, read and deleted, each in one request', async t => {
  const { api, counted } = await begin(t)
  const first = await counted(() => api.put('/v1/states/a', { value: 1 }))
  t.equal(first.result.statusCode, 201)
  t.equal(first.result.headers.location, '/v1/states/a')
  t.strictSame(first.requests, ['UpdateItem'])
  t.strictSame(first.result.json(), { name: 'a', value: 1, version: 1, updatedAt: '2026-01-31T12:00:00.500Z' })
  const second = await counted(() => api.put('/v1/states/a', { value: 2, ttl: SECONDS + 60 }))
  t.equal(second.result.statusCode, 200)
  t.strictSame(second.requests, ['UpdateItem'])
  const read = await counted(() => api.get('/v1/states/a'))
  t.strictSame(read.requests, ['GetItem'])
  t.strictSame(read.result.json(), { ...second.result.json(), version: 2 })
  t.equal(read.result.headers.etag, second.result.headers.etag, 'what was written is what is read')
  t.equal((await api.get('/v1/states/a', { 'if-none-match': String(read.result.headers.etag) })).statusCode, 304)
  const gone = await counted(() => api.delete('/v1/states/a'))
  t.equal(gone.result.statusCode, 204)
  t.strictSame(gone.requests, ['DeleteItem'])
  t.match((await api.delete('/v1/states/a')).json(), { status: 404, code: 'state-not-found' })
  t.match((await api.get('/v1/states/a')).json(), { status: 404, code: 'state-not-found' })
})

t.test('any JSON is a value', async t => {
  const { api } = await begin(t)
  const deep = JSON.parse(`${'['.repeat(31)}0${']'.repeat(31)}`)
  for (const value of [null, false, 0, '', [], {}, 'é𝄞', -1.5e-7, { a: { 'odd name.#:': [1, null] } }, deep]) {
    t.ok((await api.put('/v1/states/v', { value })).statusCode < 300)
    t.strictSame((await api.get('/v1/states/v')).json().value, value, JSON.stringify(value))
  }
  t.match((await api.put('/v1/states/v', { value: [deep, [deep]] })).json(), { status: 400, code: 'nesting-too-deep' })
  t.match((await api.put('/v1/states/v', { value: 'x'.repeat(410_000) })).json(), { code: 'item-too-large' })
  t.equal((await api.put('/v1/states/v', { value: 'x'.repeat(390_000) })).statusCode, 200)
  t.match((await api.put('/v1/states/v', {})).json(), { errors: [{ path: 'body/value', message: 'is required' }] })
  t.match((await api.put('/v1/states/v', { value: 1, ttl: SECONDS })).json(), { errors: [{ path: 'body/ttl' }] })
  t.match((await api.put('/v1/states/v', { value: 1, version: 9 })).json(), { errors: [{ path: 'body/version' }] })
})

t.test('compare-and-set is one request, decided by DynamoDB', async t => {
  const { api, counted, clock } = await begin(t)
  const put = (value: unknown, headers: Record<string, string>) =>
    counted(() => api.put('/v1/states/cas', { value }, headers))
  const made = await put(0, { 'if-none-match': '*' })
  t.equal(made.result.statusCode, 201)
  t.match((await put(0, { 'if-none-match': '*' })).result.json(), { status: 412 })
  const tag = String(made.result.headers.etag)
  const racers = await Promise.all(Array.from({ length: 20 }, (_, i) => put(i, { 'if-match': tag })))
  const winners = racers.filter(({ result }) => result.statusCode === 200)
  t.equal(winners.length, 1, 'one of twenty wins')
  t.equal((await api.get('/v1/states/cas')).json().value, winners[0]?.result.json().value)
  const fresh = await put(1, { 'if-match': `"other", ${winners[0]?.result.headers.etag}, ${tag}` })
  t.equal(fresh.result.statusCode, 200)
  t.strictSame(fresh.requests, ['UpdateItem'])
  t.equal((await put(1, { 'if-match': `W/${fresh.result.headers.etag}` })).result.statusCode, 412, 'strong comparison')
  t.equal((await put(1, { 'if-match': '"never"' })).result.statusCode, 412)
  t.equal((await api.put('/v1/states/none', { value: 1 }, { 'if-match': '*' })).statusCode, 412)
  t.equal((await api.put('/v1/states/none', { value: 1 }, { 'if-match': tag })).statusCode, 412)
  t.equal((await api.delete('/v1/states/cas', { 'if-match': tag })).statusCode, 412)
  const removed = await counted(() => api.delete('/v1/states/cas', { 'if-match': String(fresh.result.headers.etag) }))
  t.equal(removed.result.statusCode, 204)
  t.strictSame(removed.requests, ['DeleteItem'])
  clock.now += 1
  await api.put('/v1/states/cas', { value: 1 })
  t.equal((await put(1, { 'if-match': tag })).result.statusCode, 412, 'version 1 of another life is another')
})

t.test('a state that others wrote takes part in compare-and-set, too', async t => {
  const { api, raw } = await begin(t)
  const item = { pk: 'state#f', sk: 'state#f', name: 'f', value: { a: [1, { b: null }] } }
  await raw.put('realtime', item)
  const { headers } = await api.get('/v1/states/f')
  await raw.put('realtime', { ...item, value: 'changed' })
  t.equal((await api.put('/v1/states/f', { value: 1 }, { 'if-match': String(headers.etag) })).statusCode, 412)
  await raw.put('realtime', item)
  const written = await api.put('/v1/states/f', { value: 1 }, { 'if-match': String(headers.etag) })
  t.match([written.statusCode, written.json()], [200, { version: 1, value: 1 }])
})

t.test('what others left in the place of a version is none: it counts from 1 anew', async t => {
  const { api, raw, counted } = await begin(t)
  const odd = ['7', { a: 1 }, [1], true, null, new Set(['x']), -1, 10n ** 30n]
  for (const version of odd) {
    const item = { pk: 'state#odd', sk: 'state#odd', name: 'odd', value: 1, version }
    await raw.put('realtime', item)
    const { headers, ...read } = await api.get('/v1/states/odd')
    t.match(read.json(), { value: 1, version: 0 }, `${version} is read as 0`)
    const { result, requests } = await counted(() => api.put('/v1/states/odd', { value: 2 }))
    t.match([result.statusCode, result.json()], [200, { value: 2, version: 1 }])
    t.strictSame(requests, ['UpdateItem', 'UpdateItem'])
    t.match((await api.put('/v1/states/odd', { value: 3 })).json(), { version: 2 })
    t.equal((await raw.get('realtime', 'state#odd', 'state#odd'))?.version, 2)
    await raw.put('realtime', item)
    t.equal((await api.put('/v1/states/odd', { value: 2 }, { 'if-match': '"1/x/y"' })).statusCode, 412)
    const matched = await api.put('/v1/states/odd', { value: 2 }, { 'if-match': String(headers.etag) })
    t.match([matched.statusCode, matched.json()], [200, { version: 1 }])
    t.equal((await api.put('/v1/states/odd', { value: 2 }, { 'if-none-match': '*' })).statusCode, 412)
  }
})

t.test('an odd version is begun anew once, however many write', async t => {
  const { api, raw, shuffled } = await begin(t)
  await raw.put('realtime', { pk: 'state#odd', sk: 'state#odd', name: 'odd', value: 1, version: 'seven' })
  const answers = await shuffled(() =>
    Promise.all(Array.from({ length: 10 }, (_, value) => api.put('/v1/states/odd', { value })))
  )
  const versions = answers.map(answer => answer.json().version).sort((a, b) => a - b)
  t.strictSame(versions, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

t.test('an expired state is gone for every reader and writer, and its versions go on', async t => {
  const { api, raw, clock } = await begin(t)
  await api.put('/v1/states/e', { value: 1, ttl: SECONDS + 10 })
  const { headers } = await api.get('/v1/states/e')
  clock.now += 9_000
  t.equal((await api.get('/v1/states/e')).statusCode, 200)
  clock.now += 1_000
  t.equal((await api.get('/v1/states/e')).statusCode, 404)
  t.equal((await api.delete('/v1/states/e')).statusCode, 404)
  t.equal((await api.put('/v1/states/e', { value: 1 }, { 'if-match': '*' })).statusCode, 412)
  t.equal((await api.put('/v1/states/e', { value: 1 }, { 'if-match': String(headers.etag) })).statusCode, 412)
  t.ok(await raw.get('realtime', 'state#e', 'state#e'), 'it is still stored')
  const again = await api.put('/v1/states/e', { value: 2 }, { 'if-none-match': '*' })
  t.match([again.statusCode, again.json()], [201, { version: 2 }])
  t.notOk(again.json().ttl, 'a put without ttl has none')
})

t.test('subscribe, list, unsubscribe', async t => {
  const { api, raw, counted, clock } = await begin(t)
  const url = '/v1/states/s/subscriptions/c1'
  t.match((await api.put(url)).json(), { status: 404, code: 'connection-not-found' })
  t.strictSame(await raw.all('realtime'), [], 'nothing was written')
  const connected = await counted(() => api.put('/v1/connections/c1', { userId: 'ann', ttl: SECONDS + 60 }))
  t.strictSame([connected.result.statusCode, connected.requests], [201, ['UpdateItem']])
  t.equal((await api.put('/v1/connections/c1', { userId: 'ann', ttl: SECONDS + 60 })).statusCode, 200)
  const first = await counted(() => api.put(url))
  t.strictSame([first.result.statusCode, first.requests], [201, ['TransactWriteItems']])
  t.equal(first.result.headers.location, url)
  const again = await counted(() => api.put(url, {}))
  t.strictSame([again.result.statusCode, again.requests], [200, ['TransactWriteItems']])
  t.strictSame(again.result.json(), first.result.json())
  const longer = await api.put(url, { ttl: SECONDS + 50 })
  t.match([longer.statusCode, longer.json()], [200, { ttl: SECONDS + 50, subscribedAt: SECONDS }])

  const byState = await counted(() => api.get('/v1/states/s/subscriptions'))
  t.strictSame(byState.requests, ['Query'])
  t.strictSame(byState.result.json().items, [longer.json()])
  const byConnection = await counted(() => api.get('/v1/connections/c1/subscriptions'))
  t.strictSame(byConnection.requests, ['Query'])
  t.strictSame(byConnection.result.json().items, [longer.json()])
  const ofUser = await counted(() => api.get('/v1/users/ann/connections'))
  t.strictSame(ofUser.requests, ['Query'])
  t.match(ofUser.result.json().items, [{ connectionId: 'c1' }])
  t.strictSame((await counted(() => api.get('/v1/connections/c1'))).requests, ['GetItem'])

  const ended = await counted(() => api.delete(`${url}?reason=enough`))
  t.strictSame([ended.result.statusCode, ended.requests], [204, ['UpdateItem']])
  t.match((await api.delete(url)).json(), { status: 404, code: 'subscription-not-found' })
  t.strictSame((await api.get('/v1/states/s/subscriptions')).json().items, [])
  t.strictSame((await api.get('/v1/connections/c1/subscriptions')).json().items, [])
  clock.now += 5_000
  const anew = await api.put(url)
  t.strictSame(
    [anew.statusCode, anew.json()],
    [201, { stateName: 's', connectionId: 'c1', status: 'subscribed', subscribedAt: SECONDS + 5 }]
  )
  t.notOk((await raw.get('realtime', 'state#s', 'subscription#c1'))?.reason, 'it begins anew')
  clock.now += 60_000
  t.match((await api.put('/v1/states/t/subscriptions/c1')).json(), { code: 'connection-not-found' }, 'an expired one')
})

t.test('If-Match on a subscription is decided in the write', async t => {
  const { api, raw, counted, shuffled } = await begin(t)
  const url = '/v1/states/s/subscriptions/c1'
  const stored = () => raw.get('realtime', 'state#s', 'subscription#c1')
  t.match((await api.get(url)).json(), { status: 404, code: 'subscription-not-found' })
  await api.put('/v1/connections/c1', { userId: 'ann' })
  for (const tag of ['*', '"none"']) {
    t.equal((await api.put(url, {}, { 'if-match': tag })).statusCode, 412, 'there is none yet')
    t.equal((await api.delete(url, { 'if-match': tag })).statusCode, 412)
  }
  t.notOk(await stored())
  const first = await api.put(url, {}, { 'if-none-match': '*' })
  t.equal(first.statusCode, 201)
  t.equal((await api.put(url, {}, { 'if-none-match': '*' })).statusCode, 412)
  const read = await counted(() => api.get(url))
  t.strictSame([read.result.json(), read.requests], [first.json(), ['GetItem']])
  t.equal(read.result.headers.etag, first.headers.etag)

  const tag = String(first.headers.etag)
  t.equal((await api.put(url, {}, { 'if-match': tag })).statusCode, 200)
  const longer = await counted(() => api.put(url, { ttl: SECONDS + 50 }, { 'if-match': tag }))
  t.match([longer.result.statusCode, longer.result.json()], [200, { ttl: SECONDS + 50, subscribedAt: SECONDS }])
  t.strictSame(longer.requests, ['GetItem', 'TransactWriteItems'])
  t.equal((await stored())?.ttl, SECONDS + 50)
  t.equal((await api.put(url, {}, { 'if-match': tag })).statusCode, 412, 'it has changed')
  t.equal((await api.put(url, { ttl: SECONDS + 60 }, { 'if-match': tag })).statusCode, 412)
  t.equal((await api.delete(url, { 'if-match': tag })).statusCode, 412)
  t.match(await stored(), { status: 'subscribed', ttl: SECONDS + 50 }, 'nothing was written')

  const racing = String(longer.result.headers.etag)
  const racers = await shuffled(() =>
    Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        i % 2
          ? api.delete(url, { 'if-match': racing })
          : api.put(url, { ttl: SECONDS + 100 + i }, { 'if-match': racing })
      )
    )
  )
  const won = racers.filter(({ statusCode }) => statusCode < 300)
  t.equal(won.length, 1, 'one of ten wins')
  t.ok(racers.every(({ statusCode }) => statusCode < 300 || statusCode === 412))

  await api.put(url)
  const { headers } = await api.get(url)
  t.equal((await api.delete(url, { 'if-match': `"other", ${headers.etag}` })).statusCode, 204)
  t.match(await stored(), { status: 'unsubscribed' })
  t.equal((await api.get(url)).statusCode, 404, 'an ended one is stored, and no resource any more')
  t.equal((await api.delete(url, { 'if-match': String(headers.etag) })).statusCode, 412)
})

t.test('disconnect ends all subscriptions, in batches', async t => {
  const { api, raw, counted } = await begin(t)
  await api.put('/v1/connections/c', { userId: 'ann' })
  await subscribeMany(raw, 'c', 110)
  const { result, requests } = await counted(() => api.delete('/v1/connections/c'))
  t.equal(result.statusCode, 204)
  t.strictSame(requests, [
    ...['Query', 'TransactWriteItems', 'Query', 'TransactWriteItems'],
    ...['DeleteItem', 'Query']
  ])
  const items = await raw.all('realtime')
  t.equal(items.length, 110)
  t.ok(items.every(item => item.status === 'unsubscribed' && item.reason === 'connection closed'))
  t.match((await api.delete('/v1/connections/c')).json(), { status: 404, code: 'connection-not-found' })
})

t.test('a disconnect that breaks off is completed by the next', t => disconnectInTheMiddle(t, 210))

t.test('subscriptions whose connection is gone are ended by a disconnect, too', async t => {
  const { api, raw } = await begin(t)
  await subscribeMany(raw, 'lost', 2)
  t.equal((await api.delete('/v1/connections/lost')).statusCode, 204)
  t.strictSame((await api.get('/v1/connections/lost/subscriptions')).json().items, [])
  t.equal((await api.delete('/v1/connections/lost')).statusCode, 404)
})

t.test('lists are paged', async t => {
  const { api, raw } = await begin(t)
  await subscribeMany(raw, 'c', 7)
  for (let i = 0; i < 7; i++) await api.put(`/v1/connections/c${i}`, { userId: 'ann' })
  for (let i = 0; i < 7; i++) await api.put(`/v1/states/one/subscriptions/c${i}`)
  await api.delete('/v1/states/one/subscriptions/c3')
  t.equal(new Set((await walk(api, '/v1/connections/c/subscriptions?limit=3')).map(i => i.stateName)).size, 7)
  t.equal(new Set((await walk(api, '/v1/users/ann/connections?limit=2')).map(i => i.connectionId)).size, 7)
  t.equal(new Set((await walk(api, '/v1/states/one/subscriptions?limit=2')).map(i => i.connectionId)).size, 6)
  const { cursor } = (await api.get('/v1/users/ann/connections?limit=2')).json()
  t.match((await api.get(`/v1/users/bob/connections?cursor=${cursor}`)).json(), { code: 'invalid-cursor' })
  t.match((await api.get('/v1/users?email=a%40b&cursor=x')).json(), { code: 'invalid-cursor' })
})

t.test('identifiers cannot reach the items of others', async t => {
  const { api, raw } = await begin(t)
  for (const url of ['/v1/states/a%23b', '/v1/states/%00', '/v1/states/%ED%A0%80']) {
    t.equal((await api.put(url, { value: 1 })).statusCode, 400, url)
  }
  t.match((await api.put(`/v1/states/${'x'.repeat(1020)}`, { value: 1 })).json(), { code: 'invalid-key' })
  t.equal((await api.put('/v1/connections/c', { userId: 'a@b' })).statusCode, 400)
  t.equal((await api.put('/v1/connections/c', { userId: 'a#b' })).statusCode, 400)
  t.equal((await api.put('/v1/users/a@b', { email: 'a@b' })).statusCode, 400)
  for (const email of ['', 'a', '@', 'a@', 'a b@c', 'a@b#c', 'a@b@c', 7, null]) {
    t.equal((await api.put('/v1/users/u', { email })).statusCode, 400, String(email))
  }
  t.strictSame(await raw.all('realtime'), [])
})
