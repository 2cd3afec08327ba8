import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { listen, openSocket, until } from './live-helpers.js'

t.test('garbage gets an error or a close code, never a crash', async t => {
  const { url } = await listen(t)
  const socket = await openSocket(url)
  const deep = `${'['.repeat(40)}${']'.repeat(40)}`
  const wrong: [text: string, code: string, id?: unknown][] = [
    ['', 'invalid-json'],
    ['{', 'invalid-json'],
    ['null', 'invalid-request'],
    ['[]', 'invalid-request'],
    ['"subscribe"', 'invalid-request'],
    ['{"id":"a"}', 'invalid-request', 'a'],
    ['{"id":{},"type":"get","name":"a"}', 'invalid-request'],
    ['{"id":1,"type":"destroy","name":"a"}', 'invalid-request', 1],
    ['{"id":2,"type":"get","name":"a#b"}', 'invalid-request', 2],
    ['{"id":3,"type":"get","name":""}', 'invalid-request', 3],
    ['{"id":4,"type":"get","name":["a"]}', 'invalid-request', 4],
    ['{"id":5,"type":"set","name":"a"}', 'invalid-request', 5],
    ['{"id":6,"type":"set","name":"a","value":1,"ttl":1}', 'invalid-request', 6],
    ['{"id":7,"type":"subscribe","name":"a","since":-1}', 'invalid-request', 7],
    [`{"id":8,"type":"set","name":"a","value":${deep}}`, 'nesting-too-deep', 8],
    ['{"id":9,"type":"set","name":"a","value":{"__proto__":1}}', 'invalid-request', 9],
    ['{"id":10,"type":"set","name":"a","value":1e300}', 'invalid-request', 10],
    ['{"id":11,"type":"set","name":"a","value":"\\ud800"}', 'invalid-request', 11],
    [`{"id":12,"type":"set","name":"a","value":"${'x'.repeat(420_000)}"}`, 'item-too-large', 12],
    [`{"id":13,"type":"get","name":"${'x'.repeat(1020)}"}`, 'invalid-key', 13]
  ]
  for (const [i, [text, code, id = null]] of wrong.entries()) {
    socket.raw(text)
    await until(`an answer to ${text.slice(0, 60)}`, () => socket.messages.length === i + 1)
    t.match(socket.messages[i], { type: 'error', code, id }, text.slice(0, 60))
  }
  t.match(await socket.call('set', 'a', { value: 1 }), { type: 'ok' }, 'the socket lives')
  socket.raw(new Uint8Array([1, 2, 3]))
  t.match(await socket.closed, { code: 1003 }, 'binary')
  const large = await openSocket(url)
  large.raw('x'.repeat(1024 * 1024 + 1))
  t.match(await large.closed, { code: 1009 }, 'over a megabyte')
})

t.test('a socket that says too much is told, then closed; others are not disturbed', async t => {
  const clock = { now: Date.now() }
  const { url } = await listen(t, { env: { LIVE_RATE: '5' }, now: () => clock.now })
  const [loud, calm] = [await openSocket(url), await openSocket(url)]
  const shout = () => {
    for (let i = 0; i < 50; i++) loud.raw('{"type":"get","name":"a"}')
  }
  const refused = () => loud.messages.filter(({ code }) => code === 'too-many-requests').length
  shout()
  await until('fifty answers', () => loud.messages.length === 50)
  t.equal(refused(), 40, 'two seconds’ worth is heard at once')
  t.match(await calm.call('set', 'a', { value: 1 }), { type: 'ok' })
  clock.now += 1000
  shout()
  await until('as many again', () => loud.messages.length === 100)
  t.equal(refused(), 85, 'and a second’s worth after a second')
  clock.now += 1000
  shout()
  t.match(await loud.closed, { code: 1008 }, 'that some are heard does not help who goes on')
  t.match(await calm.call('get', 'a'), { type: 'ok', value: 1 })
})

t.test('the token: by header, or by protocol for browsers', async t => {
  const log: string[] = []
  const ADMIN_TOKEN = 'se/cr+et=='
  const { url } = await listen(t, { env: { ADMIN_TOKEN }, log })
  await t.rejects(openSocket(url))
  await t.rejects(openSocket(url, '', { protocols: ['quintet', 'bearer.wrong'] }))
  await t.rejects(openSocket(url, `?token=${encodeURIComponent(ADMIN_TOKEN)}`), 'not in the address, which is logged')
  const header = await openSocket(url, '', { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  t.match(await header.call('set', 'a', { value: 1 }), { type: 'ok' })
  const encoded = `bearer64.${Buffer.from(ADMIN_TOKEN).toString('base64url')}`
  const browser = await openSocket(url, '', { protocols: ['quintet', encoded] })
  t.equal(browser.protocol, 'quintet', 'the token is not repeated')
  t.match(await browser.call('get', 'a'), { type: 'ok', value: 1 })
  const refused = await fetch(`${url}/v1/live`)
  t.equal(refused.status, 401)
  t.notOk(log.join('').includes(encoded) || log.join('').includes(ADMIN_TOKEN), 'no token in the log')
})

t.test('a plain token as a protocol', async t => {
  const { url } = await listen(t, { env: { ADMIN_TOKEN: 'simple-token' } })
  const socket = await openSocket(url, '', { protocols: ['quintet', 'bearer.simple-token'] })
  t.match(await socket.call('set', 'a', { value: 1 }), { type: 'ok' })
})

t.test('origins', async t => {
  const { url } = await listen(t, { env: { CORS_ORIGIN: 'https://app.example.com' } })
  await t.rejects(openSocket(url, '', { headers: { origin: 'https://evil.example.com' } }))
  await t.rejects(openSocket(url, '', { headers: { origin: 'null' } }))
  for (const origin of [url, 'https://app.example.com']) {
    const socket = await openSocket(url, '', { headers: { origin } })
    t.match(await socket.call('set', 'a', { value: 1 }), { type: 'ok' }, origin)
  }
})

t.test('addresses', async t => {
  const { url, api } = await listen(t)
  const plain = await api.get('/v1/live')
  t.match([plain.statusCode, plain.json().code], [426, 'upgrade-required'])
  t.equal((await api.post('/v1/live', {})).statusCode, 405)
  await t.rejects(openSocket(url, '?userId=a%23b'), 'a user id is an identifier')
  await t.rejects(openSocket(url, '?userId=a%40b'))
  await t.rejects(openSocket(url, '?unknown=1'))
})

/** A request with headers that fetch does not let one send. */
async function send(url: string, headers: Record<string, string>, method = 'GET', body?: object) {
  const type = body ? { 'content-type': 'application/json' } : {}
  const sent = request(url, { method, headers: { ...type, ...headers } }).end(body && JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode, headers: response.headers, json: JSON.parse(text) }
}

t.test('a request that offers an upgrade is answered like any other, but where sockets are', async t => {
  const { url } = await listen(t)
  // As Java's client and curl --http2 do with every request.
  const h2c = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQCAAAAAAIAAAAA' }
  const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
  const socket = { connection: 'Upgrade', upgrade: 'WebSocket', 'sec-websocket-version': '13', ...key }
  let version = 0
  for (const offer of [h2c, socket]) {
    version += 1
    const put = await send(`${url}/v1/states/a`, offer, 'PUT', { value: 'x'.repeat(100_000) })
    t.match([put.status, put.json.version], [version === 1 ? 201 : 200, version], offer.upgrade)
    t.match((await send(`${url}/v1/states/a`, offer)).json, { version })
    t.equal((await send(`${url}/healthz`, offer)).status, 200)
    t.match((await send(`${url}/v1/nothing`, offer)).json, { code: 'not-found' })
    t.match((await send(`${url}/v1/live`, offer, 'POST', {})).json, { code: 'method-not-allowed' })
  }
  t.match(await send(`${url}/v1/live`, h2c), { status: 426, headers: { upgrade: 'websocket' } })
  const old = await send(`${url}/v1/live`, { ...socket, 'sec-websocket-version': '12' })
  t.match(old, { status: 426, headers: { 'sec-websocket-version': '13' }, json: { code: 'upgrade-required' } })
  const short = await send(`${url}/v1/live`, { ...socket, 'sec-websocket-key': 'c2hvcnQ=' })
  t.match(short.json, { status: 400, errors: [{ path: 'headers/sec-websocket-key' }] })
  for (const offered of ['', ',', 'a,', 'a, a', 'bearer.a=b', 'a b', '(']) {
    const { json } = await send(`${url}/v1/live`, { ...socket, 'sec-websocket-protocol': offered })
    t.match(json, { status: 400, errors: [{ path: 'headers/sec-websocket-protocol' }] }, offered)
  }
  const tunnel = connect(Number(new URL(url).port), '127.0.0.1')
  tunnel.write('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n')
  await once(tunnel.resume(), 'close')
  t.match(await (await openSocket(url)).call('get', 'a'), { type: 'ok', version }, 'and sockets are opened')
})

t.test('a connection has a limited number of subscriptions', async t => {
  const { url } = await listen(t, { env: { LIVE_SUBSCRIPTIONS: '2' } })
  const socket = await openSocket(url)
  t.match(await socket.call('subscribe', 'a'), { type: 'ok' })
  t.match(await socket.call('subscribe', 'b'), { type: 'ok' })
  t.match(await socket.call('subscribe', 'c'), { type: 'error', code: 'too-many-requests' })
  t.match(await socket.call('subscribe', 'a'), { type: 'ok' }, 'one that it has is none more')
  await socket.call('unsubscribe', 'a')
  t.match(await socket.call('subscribe', 'c'), { type: 'ok' })
})
