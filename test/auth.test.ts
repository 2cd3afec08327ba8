import { connect } from 'node:net'
import t from 'tap'
import { presentToken } from '../src/services/tokens.js'
import { callers, start } from './helpers.js'

const ADMIN = 'the-admin-token'
const repository = 'https://github.com/example/p'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Every route of the domain, and whether a project's own token opens it. */
const routes: [method: Method, path: string, opens: boolean, body?: unknown][] = [
  ['POST', '/projects', false, { name: 'fresh1', repository }],
  ['GET', '/projects/{name}', true],
  ['GET', '/projects/{name}/overview', true],
  ['PATCH', '/projects/{name}', false, { repository }],
  ['POST', '/projects/{name}/tokens', false, {}],
  ['GET', '/projects/{name}/tokens', true],
  ['GET', '/projects/{name}/tokens/{tokenId}', true],
  ['POST', '/projects/{name}/tokens/{tokenId}/rotate', false, { graceSeconds: 3600 }],
  ['POST', '/projects/{name}/tokens/introspect', false, { token: 'x' }],
  ['GET', '/projects/{name}/targets', true],
  ['PUT', '/projects/{name}/targets/{target}', true, { type: 'x', properties: {} }],
  ['GET', '/projects/{name}/targets/{target}', true],
  ['PATCH', '/projects/{name}/targets/{target}', true, { properties: { a: 1 } }],
  ['DELETE', '/projects/{name}/targets/{target}', true],
  ['DELETE', '/projects/{name}/tokens/{tokenId}', false],
  ['DELETE', '/projects/{name}', false]
]

t.test('every route × every kind of caller', async t => {
  const { app } = await start(t, { domains: ['projects'], env: { ADMIN_TOKEN: ADMIN } })
  const admin = callers(app).as(ADMIN)
  const tokenOf = async (name: string) => {
    await admin.post('/v1/projects', { name, repository })
    await admin.put(`/v1/projects/${name}/targets/prod`, { type: 'x', properties: {} })
    return (await admin.post(`/v1/projects/${name}/tokens`, {})).json()
  }
  const own = await tokenOf('mine1')
  const other = await tokenOf('other1')
  const spare = (await admin.post('/v1/projects/mine1/tokens', {})).json()
  const expired = (await admin.post('/v1/projects/mine1/tokens', { expiresInDays: 1 })).json()
  await admin.post(`/v1/projects/mine1/tokens/${expired.tokenId}/rotate`, {})

  const tooLong = presentToken({ project: 'x'.repeat(2000), tokenId: 'tkn-1', secret: 'x'.repeat(43) })

  await app.ready()
  const documented = Object.entries(app.swagger().paths ?? {}).flatMap(([path, methods]) =>
    path.startsWith('/v1')
      ? Object.keys(methods as object).map(method => `${method.toUpperCase()} ${path.slice(3)}`)
      : []
  )
  t.strictSame(routes.map(([method, path]) => `${method} ${path}`).sort(), documented.sort(), 'no route is forgotten')

  for (const [method, path, opens, body] of routes) {
    const url = `/v1${path
      .replace('{name}', 'mine1')
      .replace('{tokenId}', method === 'DELETE' ? spare.tokenId : own.tokenId)
      .replace('{target}', 'prod')}`
    const as = async (headers: Record<string, string>) => {
      const answer = await callers(app).call(method, url, body, headers)
      return { answer, status: answer.statusCode }
    }
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    const bodies = new Set<string>()
    for (const [who, headers] of Object.entries({
      garbage: bearer('garbage'),
      'wrong admin': bearer('the-admin-tokeN'),
      expired: bearer(expired.token),
      'one with a typo': bearer(`${own.token}0`),
      'one of a project no key can hold': bearer(tooLong)
    })) {
      const { answer, status } = await as(headers)
      t.equal(status, 401, `${method} ${path} with ${who}`)
      t.match(answer.headers['www-authenticate'], /^Bearer realm="quintet", error="invalid_token"$/)
      bodies.add(JSON.stringify({ ...answer.json(), instance: '' }))
    }
    t.equal(bodies.size, 1, 'all of these get the same answer')
    for (const headers of [
      {},
      { authorization: ADMIN },
      { authorization: `Basic ${ADMIN}` },
      { authorization: 'Bearer ' }
    ]) {
      t.equal(
        (await as(headers as Record<string, string>)).status,
        401,
        `${method} ${path} with ${JSON.stringify(headers)}`
      )
    }
    const foreign = await as(bearer(other.token))
    const expected = path === '/projects' ? 403 : 404
    t.equal(foreign.status, expected, `${method} ${path} with the token of another project`)
    const mine = await as(bearer(own.token))
    if (opens) t.ok(mine.status < 300, `${method} ${path} with its own token: ${mine.status}`)
    else t.match(mine.answer.json(), { status: 403, code: 'forbidden' }, `${method} ${path} with its own token`)
    if (!opens || method !== 'DELETE')
      t.ok((await as(bearer(ADMIN))).status < 300, `${method} ${path} with the admin token`)
  }
})

t.test('what needs no token, and what does even if it is not there', async t => {
  const { app } = await start(t, { domains: ['projects'], env: { ADMIN_TOKEN: ADMIN } })
  for (const url of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/openapi.yaml', '/docs']) {
    t.ok((await callers(app).get(url)).statusCode < 400, url)
  }
  for (const url of ['/v1', '/v1/', '/v1/nosuch', '/v1/projects/x/y/z/a', '/v1?x', '//v1/projects/x', '/V1/projects']) {
    const { statusCode } = await callers(app).get(url)
    t.ok([401, 404].includes(statusCode), `${url}: ${statusCode}`)
  }
  t.equal((await callers(app).get('/v1/nosuch')).statusCode, 401)
  t.equal((await callers(app).as(ADMIN).get('/v1/nosuch')).statusCode, 404)
  t.equal((await callers(app).call('DELETE', '/v1/projects')).statusCode, 401, 'also where the method is wrong')
})

t.test('a path that decodes to another project does not deceive the guard', async t => {
  const { app } = await start(t, { domains: ['projects'], env: { ADMIN_TOKEN: ADMIN } })
  const admin = callers(app).as(ADMIN)
  for (const name of ['mine1', 'other1']) await admin.post('/v1/projects', { name, repository })
  const { token } = (await admin.post('/v1/projects/mine1/tokens', {})).json()
  const own = callers(app).as(token)
  t.equal((await own.get('/v1/projects/%6dine1')).statusCode, 200)
  for (const url of [
    '/v1/projects/%6fther1',
    '/v1/projects/mine1%2f..%2fother1',
    '/v1/projects/other1?name=mine1',
    '/v1//projects/other1'
  ]) {
    t.equal((await own.get(url)).statusCode, url.includes('//') ? 403 : 404, url)
  }
})

/** The answer's status to a request written out, since clients tidy addresses up before they send them. */
async function statusOf(origin: string, method: string, address: string, token?: string): Promise<number> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  const bearer = token ? `authorization: Bearer ${token}\r\n` : ''
  socket.write(`${method} ${address} HTTP/1.1\r\nhost: x\r\n${bearer}content-length: 0\r\nconnection: close\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}

t.test('however an address is written, the guard stands before the route', async t => {
  const { app } = await start(t, { domains: ['projects'], env: { ADMIN_TOKEN: ADMIN } })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const admin = callers(app).as(ADMIN)
  for (const name of ['mine1', 'other1']) await admin.post('/v1/projects', { name, repository })
  const { token } = (await admin.post('/v1/projects/mine1/tokens', {})).json()
  const spellings = (path: string) => [
    ...['/v1', '/%761', '/v%31', '/%76%31', 'http://x/v1', 'https://x.example:1/v1', 'http://x/%761'].map(
      v1 => v1 + path
    ),
    `/v1${path.replace('projects', '%70rojects')}`
  ]
  for (const address of spellings('/projects/mine1')) {
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'OPTIONS']) {
      t.equal(await statusOf(origin, method, address), 401, `${method} ${address}`)
    }
    t.equal(await statusOf(origin, 'GET', address, token), 200, `${address} with its own token`)
    t.equal(await statusOf(origin, 'DELETE', address, token), 403, `${address} with its own token`)
  }
  for (const address of spellings('/projects/other1'))
    t.equal(await statusOf(origin, 'GET', address, token), 404, address)
  for (const address of ['//v1/projects/mine1', '/./v1/projects/mine1', '/V1/projects/mine1', '/v1%2fprojects/mine1']) {
    t.ok([401, 404].includes(await statusOf(origin, 'GET', address)), address)
  }
  t.equal((await admin.get('/v1/projects/mine1')).statusCode, 200, 'nothing was deleted')
})

t.test('without an admin token everything is open', async t => {
  const { api } = await start(t, { domains: ['projects'] })
  t.equal((await api.get('/v1/projects/nosuch1')).statusCode, 404)
  t.equal((await api.as('whatever').get('/v1/projects/nosuch1')).statusCode, 404)
})
