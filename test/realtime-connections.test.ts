import t from 'tap'
import { disconnectInTheMiddle, disconnectThrottled, subscribeMany } from './campaign/realtime-disconnect.js'
import { walk } from './helpers.js'
import { begin, SECONDS } from './realtime-helpers.js'

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
    t.equal((await api.delete(url, { 'if-match': tag })).statusCode, 404, 'it would be without a condition, too')
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
  t.ok(racers.every(({ statusCode }, i) => statusCode < 300 || statusCode === 412 || (i % 2 && statusCode === 404)))

  await api.put(url)
  const { headers } = await api.get(url)
  t.equal((await api.delete(url, { 'if-match': `"other", ${headers.etag}` })).statusCode, 204)
  t.match(await stored(), { status: 'unsubscribed' })
  t.equal((await api.get(url)).statusCode, 404, 'an ended one is stored, and no resource any more')
  t.equal((await api.delete(url, { 'if-match': String(headers.etag) })).statusCode, 404)
})

t.test('what is not there is 404 to a deletion, whatever If-Match says', async t => {
  const { api } = await begin(t)
  for (const path of ['states/x', 'states/x/subscriptions/x', 'connections/x', 'users/x']) {
    for (const tag of [
      '*',
      '"x"',
      '"1/2026-01-31T12%3A00%3A00.500Z/aaaaaaaaaaaaaaaaaaaaaaaaaaa"',
      '"0//aaaaaaaaaaaaaaaaaaaaaaaaaaa"'
    ]) {
      t.equal((await api.delete(`/v1/${path}`, { 'if-match': tag })).statusCode, 404, `${path} ${tag}`)
    }
  }
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
t.test('a disconnect that is throttled tries again', t => disconnectThrottled(t, 20))

t.test('what a disconnect did not come to is ended by its ttl', async t => {
  const { api, raw, clock } = await begin(t)
  const url = '/v1/states/s/subscriptions/c'
  await api.put('/v1/connections/c', { userId: 'ann', ttl: SECONDS + 10 })
  t.equal((await api.put(url, { ttl: SECONDS + 10 })).statusCode, 201)
  clock.now += 9_000
  t.equal((await api.get('/v1/states/s/subscriptions')).json().items.length, 1)
  clock.now += 1_000
  for (const list of ['/v1/states/s/subscriptions', '/v1/connections/c/subscriptions', '/v1/users/ann/connections']) {
    t.strictSame((await api.get(list)).json(), { items: [], cursor: null }, list)
  }
  t.equal((await raw.all('realtime')).length, 2, 'both are still stored')
  for (const path of [url, '/v1/connections/c']) {
    t.equal((await api.get(path)).statusCode, 404)
    t.equal((await api.delete(path)).statusCode, 404)
  }
  t.equal((await api.put('/v1/connections/c', { userId: 'bob' })).statusCode, 201)
  t.equal((await api.put(url)).statusCode, 201, 'it begins anew')
})

t.test('subscriptions whose connection is gone are ended by a disconnect, too', async t => {
  const { api, raw } = await begin(t)
  await subscribeMany(raw, 'lost', 2)
  t.equal((await api.delete('/v1/connections/lost')).statusCode, 204)
  t.strictSame((await api.get('/v1/connections/lost/subscriptions')).json().items, [])
  t.equal((await api.delete('/v1/connections/lost')).statusCode, 404)
  await subscribeMany(raw, 'lost', 2)
  const repeated = await api.delete('/v1/connections/lost', { 'if-match': '"what it was"' })
  t.equal(repeated.statusCode, 204, 'also by one with If-Match, which ends the connection first and may break off')
  t.strictSame((await api.get('/v1/connections/lost/subscriptions')).json().items, [])
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
