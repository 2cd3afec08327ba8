import t from 'tap'
import { begin, SECONDS } from './realtime-helpers.js'

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
  for (const never of ['"never"', `"1/%E0%A4%A/${'a'.repeat(27)}"`, `"1//${'a'.repeat(27)}"`]) {
    t.equal((await put(1, { 'if-match': never })).result.statusCode, 412, never)
    t.equal((await api.delete('/v1/states/cas', { 'if-match': never })).statusCode, 412, never)
  }
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
  const odd = [{ version: 3 }, { version: 3, updatedAt: 7 }, { version: 3, updatedAt: 'x' }, { version: 2 ** 52 }]
  for (const attributes of odd) {
    await raw.put('realtime', { ...item, ...attributes })
    const seen = { 'if-match': String((await api.get('/v1/states/f')).headers.etag) }
    const answer = await api.put('/v1/states/f', { value: 1 }, seen)
    t.match([answer.statusCode, answer.json()], [200, { version: attributes.version + 1 }], JSON.stringify(attributes))
    t.equal((await api.put('/v1/states/f', { value: 1 }, seen)).statusCode, 412)
    t.equal((await api.delete('/v1/states/f', seen)).statusCode, 412)
  }
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
