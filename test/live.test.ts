import { once } from 'node:events'
import t from 'tap'
import { listen, openEvents, openSilent, openSilentEvents, openSocket, until } from './live-helpers.js'

t.test('what one sets, the others get', async t => {
  const { url, api, raw } = await listen(t)
  const [ann, bob] = await Promise.all([openSocket(url, '?userId=ann'), openSocket(url, '?userId=bob')])
  const subscribed = await ann.call('subscribe', 'lobby/score')
  t.match(subscribed, { type: 'ok', name: 'lobby/score', connectionId: /^live-[0-9a-f]{32}$/ })
  await bob.call('subscribe', 'lobby/score')

  t.match(await bob.call('set', 'lobby/score', { value: null }), { type: 'ok', version: 1 })
  t.match(await ann.value('lobby/score', 1), { value: null }, 'through a socket')
  await api.put('/v1/states/lobby%2Fscore', { value: { home: 2 } })
  t.match(await ann.value('lobby/score', 2), { value: { home: 2 } }, 'through REST')
  await bob.value('lobby/score', 2)
  t.match(await ann.call('get', 'lobby/score'), { type: 'ok', value: { home: 2 }, version: 2 })
  t.match(await ann.call('get', 'none'), { type: 'error', code: 'state-not-found', status: 404 })

  t.match((await api.get('/v1/users/ann/connections')).json().items, [{ connectionId: subscribed.connectionId }])
  const listed = (await api.get('/v1/states/lobby%2Fscore/subscriptions')).json().items
  t.equal(listed.length, 2, 'a socket’s subscriptions are items')
  t.ok(listed.every((item: { ttl?: number }) => (item.ttl ?? 0) > Date.now() / 1000))

  t.match(await bob.call('unsubscribe', 'lobby/score'), { type: 'ok' })
  t.match(await bob.call('unsubscribe', 'lobby/score'), { type: 'error', code: 'subscription-not-found' })
  await api.delete('/v1/states/lobby%2Fscore')
  await ann.find(({ type, name }) => type === 'deleted' && name === 'lobby/score', 'the end of the state')
  await api.put('/v1/states/lobby%2Fscore', { value: 'anew' })
  await until('the state’s next life', () => ann.values('lobby/score').at(-1)?.value === 'anew')
  t.strictSame(
    ann.values('lobby/score').map(({ version }) => version),
    [1, 2, 1]
  )
  t.equal(bob.values('lobby/score').length, 2, 'nothing after the end of a subscription')

  ann.close()
  await until(
    'the end of the connection',
    async () => (await api.get('/v1/users/ann/connections')).json().items.length === 0
  )
  const items = async () => raw.query('realtime', 'state#lobby/score')
  await until('its subscriptions’ end', async () => (await items()).every(({ status }) => status !== 'subscribed'))
  const item = (await items()).find(({ connectionId }) => connectionId === subscribed.connectionId)
  t.match(item, { status: 'unsubscribed', reason: 'connection closed' })
})

t.test('since: the present value, if it is another', async t => {
  const { url, api } = await listen(t)
  for (const value of [1, 2, 3]) await api.put('/v1/states/a', { value })
  const socket = await openSocket(url)
  await socket.call('subscribe', 'a', { since: 3 })
  await socket.call('subscribe', 'b', { since: 1 })
  await socket.find(({ type, name }) => type === 'deleted' && name === 'b', 'that b is gone')
  t.equal(socket.values('a').length, 0, 'it has version 3')
  await api.put('/v1/states/a', { value: 4 })
  await socket.value('a', 4)
  await socket.call('subscribe', 'a', { since: 2 })
  await until('the value again', () => socket.values('a').length === 2)
  await api.delete('/v1/states/a')
  await api.put('/v1/states/a', { value: 'anew' })
  const other = await openSocket(url)
  await other.call('subscribe', 'a', { since: 4 })
  const anew = await other.value('a', 1)
  t.match(anew, { value: 'anew' }, 'a lower version is of another life')
  await other.call('subscribe', 'a', { since: 1, updatedAt: anew.updatedAt })
  await api.put('/v1/states/b', { value: 'a mark' })
  await other.call('subscribe', 'b')
  await other.value('b', 1)
  t.equal(other.values('a').length, 1, 'it has this one')
  await other.call('subscribe', 'a', { since: 1, updatedAt: '2020-01-01T00:00:00.000Z' })
  await until('the same version of another life', () => other.values('a').length === 2)
})

t.test('a state’s end by ttl is told', async t => {
  const clock = { now: Date.now() }
  const { url, api } = await listen(t, { now: () => clock.now })
  const socket = await openSocket(url)
  await socket.call('subscribe', 'e')
  await api.put('/v1/states/e', { value: 1, ttl: Math.floor(clock.now / 1000) + 5 })
  await socket.value('e', 1)
  clock.now += 6_000
  await socket.find(({ type }) => type === 'deleted', 'the end of the state')
  await api.put('/v1/states/e', { value: 2 })
  await until('its next life', () => socket.values('e').at(-1)?.value === 2)
  t.strictSame(
    socket.messages.filter(({ type }) => type !== 'ok').map(({ type, value }) => [type, value]),
    [
      ['value', 1],
      ['deleted', undefined],
      ['value', 2]
    ]
  )
})

t.test('REST acts on sockets, too', async t => {
  const { url, api, raw } = await listen(t)
  const socket = await openSocket(url)
  const { connectionId } = await socket.call('subscribe', 'a')
  await api.put('/v1/states/b', { value: 'b' })
  t.equal((await api.put(`/v1/states/b/subscriptions/${connectionId}`)).statusCode, 201)
  await socket.value('b', 1)
  await api.delete(`/v1/states/b/subscriptions/${connectionId}`)
  await api.put('/v1/states/b', { value: 'b2' })
  await api.put('/v1/states/a', { value: 'a' })
  await socket.value('a', 1)
  t.equal(socket.values('b').length, 1)
  const item = await raw.get('realtime', 'state#b', `subscription#${connectionId}`)
  t.ok(
    Number(item?.ttl) > Date.now() / 1000,
    'begun without a ttl, it got the socket’s: it must not outlive the server'
  )
  t.equal((await api.delete(`/v1/connections/${connectionId}`)).statusCode, 204)
  t.match(await socket.closed, { code: 4001 })
})

t.test('server-sent events', async t => {
  const { url, api } = await listen(t)
  await api.put('/v1/states/s', { value: 'line\nbreak' })
  const first = await openEvents(url, 's')
  t.match(first.response.headers.get('content-type'), /^text\/event-stream/)
  t.equal(first.response.headers.get('cache-control'), 'no-store')
  t.ok(first.response.headers.get('content-security-policy'), 'the headers of all answers')
  await until('the present value', () => first.events.some(({ id }) => id === '1'))
  t.match(first.events, [{ retry: '1000' }, { id: '1', event: 'value', data: { value: 'line\nbreak', version: 1 } }])
  const second = await openEvents(url, 's', { 'last-event-id': '1' })
  await api.put('/v1/states/s', { value: 2 })
  await until('the new value', () => second.events.some(({ id }) => id === '2'))
  t.strictSame(second.events.map(({ id }) => id).filter(Boolean), ['2'], 'not what it has')
  await api.delete('/v1/states/s')
  await until('the end', () => first.events.some(({ event }) => event === 'deleted'))
  t.equal((await api.get('/v1/states/s/subscriptions')).json().items.length, 2)
  first.close()
  await until('one subscription', async () => (await api.get('/v1/states/s/subscriptions')).json().items.length === 1)
  const refused = await fetch(`${url}/v1/states/s/events`, { headers: { 'last-event-id': 'x' } })
  t.equal(refused.status, 400)
  second.close()
})

t.test('a stream that is not read ends with its connection', async t => {
  const clock = { now: Date.now() }
  const { url, api, app } = await listen(t, { env: { LIVE_TTL: '3' }, now: () => clock.now })
  const clients = [await openSilentEvents(url, 's'), await openSilentEvents(url, 's')]
  for (const client of clients) client.on('error', () => {})
  for (let i = 0; i < 40; i++) await api.put('/v1/states/s', { value: 'x'.repeat(380_000) })
  t.match((await api.get('/metrics')).body, /^quintet_live_waiting 2$/m, 'neither is read')
  const [{ connectionId }] = (await api.get('/v1/users/anonymous/connections')).json().items
  t.equal((await api.delete(`/v1/connections/${connectionId}`)).statusCode, 204)
  const open = () => new Promise(resolve => app.server.getConnections((_error, count) => resolve(count)))
  await until('one stream', async () => (await open()) === 1)
  await app.close()
  t.equal(await open(), 0)
})

t.test('a stopping server says so, and leaves nothing active', async t => {
  const { url, app, raw } = await listen(t)
  const socket = await openSocket(url)
  await socket.call('subscribe', 'a')
  const events = await openEvents(url, 'a')
  await app.close()
  t.match(await socket.closed, { code: 1001 })
  await until('the end of the stream', events.isEnded)
  const items = await raw.all('realtime')
  t.equal(items.length, 2)
  t.ok(items.every(({ status }) => status === 'unsubscribed'))
})

t.test('a socket that does not answer pings is given up, and one that does is not', async t => {
  const clock = { now: Date.now() }
  const { url, api, raw } = await listen(t, { env: { LIVE_TTL: '3' }, now: () => clock.now })
  const alive = await openSocket(url)
  const { connectionId } = await alive.call('subscribe', 'a')
  const deaf = await openSilent(url, ['a'])
  // It reads, so that nothing waits for it, but says nothing.
  const closed = once(deaf.resume(), 'close')
  const active = async () => (await api.get('/v1/states/a/subscriptions')).json().items.length
  await until('both', async () => (await active()) === 2)
  await closed
  await until('the end of its subscription', async () => (await active()) === 1)
  const keys = [
    ['state#a', `subscription#${connectionId}`],
    [`connection#${connectionId}`, `connection#${connectionId}`]
  ] as const
  for (let renewals = 0; renewals < 3; renewals++) {
    clock.now += 1500
    await until('another ttl', async () => {
      const items = await Promise.all(keys.map(([pk, sk]) => raw.get('realtime', pk, sk)))
      return items.every(item => item?.ttl === Math.floor(clock.now / 1000) + 3)
    })
  }
  t.equal(await active(), 1, 'beyond its first ttl')
  await api.put('/v1/states/a', { value: 1 })
  await alive.value('a', 1)
  t.pass('and it still hears')
})

t.test('a client that closes its half, or goes without a word, is gone', async t => {
  const { url, api } = await listen(t)
  const active = async () => (await api.get('/v1/states/a/subscriptions')).json().items.length
  for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
    const client = await openSilent(url, ['a'])
    await until('its subscription', async () => (await active()) === 1)
    client.resume()[leave]()
    await until(`its end by ${leave}`, async () => (await active()) === 0)
  }
  const connections = async () => (await api.get('/v1/users/anonymous/connections')).json().items.length
  await until('the end of all connections', async () => (await connections()) === 0)
})

t.test('who subscribes while it is written misses nothing', async t => {
  const { url, api } = await listen(t)
  let isOver = false
  const write = async () => {
    for (let value = 1; !isOver; value++) await api.put('/v1/states/busy', { value })
  }
  const writers = [write(), write()]
  const sockets = []
  for (let i = 0; i < 20; i++) {
    const socket = await openSocket(url)
    await socket.call('subscribe', 'busy')
    sockets.push(socket)
  }
  isOver = true
  await Promise.all(writers)
  const { version } = (await api.get('/v1/states/busy')).json()
  for (const socket of sockets) {
    await socket.value('busy', version)
    const versions = socket.values('busy').map(message => message.version as number)
    t.ok(versions.length > 0 && versions.every((one, i) => i === 0 || one > (versions[i - 1] as number)))
  }
})

t.test('metrics', async t => {
  const { url, api } = await listen(t)
  // Its first value is read, and has no lag; what is set after that has one.
  await api.put('/v1/states/a', { value: 1 })
  const socket = await openSocket(url)
  await socket.call('subscribe', 'a')
  await socket.value('a', 1)
  await socket.call('set', 'a', { value: 2 })
  await socket.value('a', 2)
  await socket.call('get', 'none')
  const { body } = await api.get('/metrics')
  for (const line of [
    'quintet_live_connections 1',
    'quintet_live_subscriptions 1',
    'quintet_live_waiting 0',
    'quintet_live_messages_total{direction="in"} 3',
    'quintet_live_messages_total{direction="out"} 2',
    'quintet_live_messages_total{direction="refused"} 1',
    'quintet_live_lag_seconds_count 1'
  ]) {
    t.ok(body.includes(`${line}\n`), line)
  }
  socket.close()
  await until('no connection', async () => /^quintet_live_connections 0$/m.test((await api.get('/metrics')).body))
  t.match((await api.get('/metrics')).body, /^quintet_live_subscriptions 0$/m)
})
