import { once } from 'node:events'
import { METHODS } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { clientErrorHandler } from '../src/plugins/broken-http.js'
import { catalogue } from '../src/problems.js'
import { start, type Test } from './helpers.js'

const repository = 'https://github.com/example/p'
const HEAD = 'host: x\r\nconnection: close\r\n'

async function begin(t: Test, env: Record<string, string> = {}) {
  const started = await start(t, { domains: ['projects'], env })
  await started.api.post('/v1/projects', { name: 'myproj', repository })
  return started
}

/** Sends bytes as they are, and gives what comes back until the connection ends. */
async function say(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text, 'latin1')
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}

interface Said {
  status: number
  headers: string
  problem: Record<string, unknown>
}

function parsed(answer: string): Said {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), headers: head.toLowerCase(), problem: body ? JSON.parse(body) : {} }
}

t.test('what is not HTTP gets a problem, too', async t => {
  const { app } = await begin(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const many = Array.from({ length: 3000 }, (_, i) => `a${i}: b\r\n`).join('')
  const cases: [code: keyof typeof catalogue, text: string][] = [
    ['invalid-request', 'nonsense\r\n\r\n'],
    ['invalid-request', `FOO /healthz HTTP/1.1\r\n${HEAD}\r\n`],
    ['invalid-request', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['invalid-request', `POST /v1/projects HTTP/1.1\r\n${HEAD}content-length: -1\r\n\r\n`],
    ['invalid-request', `POST /v1/projects HTTP/1.1\r\n${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['invalid-request', `GET /healthz HTTP/1.1\r\n${HEAD}x: a\u0001b\r\n\r\n`],
    ['invalid-request', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n'],
    ['invalid-request', `GET /v1/projects/%ff HTTP/1.1\r\n${HEAD}\r\n`],
    ['uri-too-long', `GET /v1/projects/${'x'.repeat(9000)} HTTP/1.1\r\n${HEAD}\r\n`],
    ['uri-too-long', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HEAD}\r\n`],
    ['headers-too-large', `GET /healthz HTTP/1.1\r\n${HEAD}${many}\r\n`],
    ['expectation-failed', `GET /healthz HTTP/1.1\r\n${HEAD}expect: wonders\r\n\r\n`]
  ]
  for (const [code, text] of cases) {
    const what = text.slice(0, 60)
    const { status, headers, problem } = parsed(await say(port, text))
    t.equal(status, catalogue[code][0], what)
    t.match(headers, 'content-type: application/problem+json', what)
    t.match(problem, { type: `/problems/${code}`, title: catalogue[code][1], status, code, instance: /^[\w-]{36}$/ })
    t.match(headers, `x-request-id: ${problem.instance}`, what)
    t.notMatch(JSON.stringify(problem), /x{100}|%ff/, 'the address is not repeated')
  }
  t.match(await say(port, `GET /healthz HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 200 /)
  t.match(await say(port, 'GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /, 'HTTP/1.0 needs no Host')
})

t.test('addresses that cannot be read are logged, counted and answered with the headers of all others', async t => {
  const log: string[] = []
  const { app, api } = await start(t, { domains: ['projects'], log })
  const broken = await api.get('/v1/projects/%ff', { 'x-request-id': 'broken-1' })
  t.equal(broken.headers['x-request-id'], 'broken-1')
  for (const header of ['content-security-policy', 'x-content-type-options']) {
    t.equal(broken.headers[header], (await api.get('/healthz')).headers[header], header)
  }
  t.match(
    log.filter(line => line.includes('broken-1')).map(line => JSON.parse(line)),
    [{ msg: 'incoming request' }, { msg: 'request completed', res: { statusCode: 400 } }]
  )
  t.match((await api.get('/metrics')).body, /_count\{method="GET",route="\(none\)",status="400"\} 1/)
  await app.close()
})

t.test('a request that does not arrive in time is 408', async t => {
  const server = createServer((socket: Socket) => {
    clientErrorHandler(Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
  })
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { status, problem } = parsed(await say((server.address() as AddressInfo).port, 'GET / HT'))
  t.equal(status, 408)
  t.match(problem, { status: 408, code: 'request-timeout' })
})

t.test('bodies are JSON in UTF-8, as it is', async t => {
  const { api, raw } = await begin(t)
  const url = '/v1/projects/myproj/targets/prod'
  const body = '{"type":"x","properties":{"a":"é"}}'
  const put = (payload: string | Buffer, type: string, more: Record<string, string> = {}) =>
    api.call('PUT', url, payload, { 'content-type': type, ...more })
  for (const type of [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json, text/plain',
    'application/jsonp',
    'application/json; charset=utf-16',
    'application/json; charset="iso-8859-1"'
  ]) {
    t.match((await put(body, type)).json(), { status: 415, code: 'unsupported-media-type' }, type)
  }
  const zipped = await put(gzipSync(body), 'application/json', { 'content-encoding': 'gzip' })
  t.match(zipped.json(), { status: 415, code: 'unsupported-media-type' })
  for (const [what, bytes] of Object.entries({
    'latin-1': Buffer.from(body, 'latin1'),
    'half a character': Buffer.concat([
      Buffer.from('{"type":"x'),
      Buffer.from([0xc3]),
      Buffer.from('","properties":{}}')
    ]),
    'a surrogate on its own': Buffer.concat([Buffer.from('"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"')]),
    'UTF-16': Buffer.from(body, 'utf16le')
  })) {
    t.match((await put(bytes, 'application/json')).json(), { status: 400, code: 'invalid-json' }, what)
  }
  t.equal((await raw.query('projects', 'PROJECT#myproj')).length, 1, 'nothing was written')
  for (const type of [
    'application/json',
    'APPLICATION/JSON; charset="UTF-8"',
    'application/merge-patch+json;charset=utf8'
  ]) {
    const { statusCode } = await put(body, type, { 'content-encoding': 'identity' })
    t.ok(statusCode < 300, type)
  }
  t.match(await raw.get('projects', 'PROJECT#myproj', 'TARGET#prod'), { properties: { a: 'é' } })
})

t.test('405 with Allow on every address, and an answer to OPTIONS', async t => {
  const { app, api } = await start(t)
  await app.ready()
  const taken = new Map<string, string[]>()
  for (const [path, operations] of Object.entries(app.swagger().paths ?? {})) {
    const methods = Object.keys(operations as object).map(method => method.toUpperCase())
    const isStream = path.endsWith('/events') || path === '/v1/live'
    taken.set(path.replace(/\{\w+\}/g, 'abcd'), [...methods, ...(methods.includes('GET') && !isStream ? ['HEAD'] : [])])
  }
  for (const path of ['/metrics', '/docs', '/openapi.json', '/openapi.yaml', '/live', '/problems/not-found']) {
    taken.set(path, ['GET', 'HEAD'])
  }
  for (const [path, methods] of taken) {
    const allow = [...methods, 'OPTIONS'].sort().join(', ')
    const options = await api.call('OPTIONS', path)
    t.strictSame([options.statusCode, options.headers.allow], [204, allow], `OPTIONS ${path}`)
    const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']
    for (const method of others.filter(other => !methods.includes(other))) {
      const refused = await api.call(method as 'GET', path)
      t.strictSame([refused.statusCode, refused.headers.allow], [405, allow], `${method} ${path}`)
      if (method !== 'HEAD') t.match(refused.json(), { status: 405, code: 'method-not-allowed' })
    }
  }
})

t.test('every method that Node knows is answered', async t => {
  const { app } = await begin(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  for (const method of METHODS.filter(name => name !== 'CONNECT')) {
    const { status } = parsed(await say(port, `${method} /v1/projects HTTP/1.1\r\n${HEAD}content-length: 0\r\n\r\n`))
    const expected = { POST: 400, OPTIONS: 204 }[method] ?? 405
    t.equal(status, expected, method)
    const nowhere = parsed(await say(port, `${method} /nowhere HTTP/1.1\r\n${HEAD}\r\n`))
    t.equal(nowhere.status, 404, method)
  }
})

t.test('nothing at an address is 404', async t => {
  const { api } = await begin(t)
  t.equal((await api.call('HEAD', '/v1/projects/myproj')).statusCode, 200)
  for (const url of ['/', '/nosuch', '/v1', '/v1/nosuch', '/v1/projects/myproj/']) {
    t.match((await api.get(url)).json(), { status: 404, code: 'not-found' }, url)
  }
})

t.test('an answer that cannot be written is 500, and harms none of those that are written with it', async t => {
  const { app } = await start(t, { domains: ['projects'] })
  app.get('/broken', async (_request, reply) => reply.header('x-broken', 'a\nb').send('x'))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const statusOf = async (path: string) => (await say(port, `GET ${path} HTTP/1.1\r\n${HEAD}\r\n`)).split(' ')[1]
  const paths = Array.from({ length: 20 }, (_, i) => (i % 2 ? '/broken' : '/healthz'))
  const statuses = await Promise.all(paths.map(statusOf))
  t.strictSame(
    statuses,
    paths.map(path => (path === '/broken' ? '500' : '200'))
  )
})
