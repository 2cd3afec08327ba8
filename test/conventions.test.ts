import fc from 'fast-check'
import t from 'tap'
import { canonical } from '../src/etag.js'
import { nextLink } from '../src/routes/reply.js'
import { callers, start, type Test } from './helpers.js'
import { documentOf, exampleRequest, operationsOf } from './openapi-document.js'
import { refuse, standIn } from './stand-in.js'

const repository = 'https://github.com/example/p'

async function begin(t: Test, env: Record<string, string> = {}) {
  const started = await start(t, { domains: ['projects'], env })
  await started.api.post('/v1/projects', { name: 'myproj', repository })
  return started
}

t.test('a problem is RFC 9457 and carries the request id', async t => {
  const { api } = await begin(t)
  const res = await api.get('/v1/projects/nosuch1', { 'x-request-id': 'my-request-1' })
  t.equal(res.headers['content-type'], 'application/problem+json')
  t.equal(res.headers['x-request-id'], 'my-request-1')
  t.strictSame(res.json(), {
    type: '/problems/project-not-found',
    title: 'No such project',
    status: 404,
    detail: 'There is no project nosuch1',
    code: 'project-not-found',
    instance: 'my-request-1'
  })
  for (const bad of ['a b', 'x'.repeat(129), '<script>', '']) {
    const made = await api.get('/v1/projects/nosuch1', { 'x-request-id': bad })
    t.not(made.headers['x-request-id'], bad)
    t.match(made.json().instance, /^[\w-]{36}$/)
  }
})

t.test('a problem’s type can be followed', async t => {
  const { api } = await begin(t)
  const { type } = (await api.get('/v1/projects/nosuch1')).json()
  t.match((await api.get(type)).json(), { code: 'project-not-found', status: 404, title: 'No such project' })
  t.equal((await api.get('/problems/constructor')).statusCode, 404)
})

t.test('all offending fields are named', async t => {
  const { api, raw } = await begin(t)
  const res = await api.post('/v1/projects', { name: 5, extra: 1, another: 2 })
  t.equal(res.statusCode, 400)
  t.strictSame(
    res
      .json()
      .errors.map((e: { path: string }) => e.path)
      .sort(),
    ['body/another', 'body/extra', 'body/name', 'body/repository']
  )
  for (const body of [[], 'text', 5, null, true]) {
    const answer = await api.call('POST', '/v1/projects', JSON.stringify(body), { 'content-type': 'application/json' })
    t.match(answer.json(), { status: 400, code: 'invalid-request' }, JSON.stringify(body))
  }
  t.match((await api.post('/v1/projects')).json(), { errors: [{ path: 'body/name' }, { path: 'body/repository' }] })
  t.equal((await raw.all('projects')).length, 1, 'nothing was written')
})

t.test('queries are coerced and checked', async t => {
  const { api } = await begin(t)
  const list = (query: string) => api.get(`/v1/projects/myproj/tokens?${query}`)
  t.equal((await list('limit=7')).statusCode, 200)
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'limit=99999999999999999999',
    'page=2',
    'cursor=',
    '__proto__=1',
    'limit[a]=1'
  ]) {
    t.match((await list(query)).json(), { status: 400, code: 'invalid-request' }, query)
  }
  const { errors } = (await api.get('/v1/projects/myproj?fields=name&x=1')).json()
  const paths = errors.map(({ path }: { path: string }) => path)
  t.strictSame(paths, ['query/fields', 'query/x'], 'also where there is nothing to ask for')
})

t.test('a cursor is bound to its list, its arguments and its server', async t => {
  const { api, raw } = await begin(t)
  await api.post('/v1/projects', { name: 'other1', repository })
  for (const pk of ['PROJECT#myproj', 'PROJECT#other1']) {
    for (let i = 0; i < 5; i++)
      await raw.put('projects', { pk, sk: `TOKEN#tkn-${i}`, created_at: 'x', expires_at: 'x' })
  }
  const { cursor } = (await api.get('/v1/projects/myproj/tokens?limit=2')).json()
  t.notMatch(Buffer.from(cursor, 'base64url').toString('latin1'), 'PROJECT', 'it shows no key')
  const at = (url: string, c: string) => api.get(`${url}?limit=2&cursor=${encodeURIComponent(c)}`)
  t.equal((await at('/v1/projects/myproj/tokens', cursor)).statusCode, 200)
  const flipped = (i: number) => cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1)
  const { cursor: strange } = (await (await begin(t)).api.get('/v1/projects/myproj/tokens?limit=1')).json()
  const wrong: [string, string][] = [
    ['/v1/projects/other1/tokens', cursor],
    ['/v1/projects/myproj/targets', cursor],
    ['/v1/projects/myproj/tokens', flipped(3)],
    ['/v1/projects/myproj/tokens', flipped(cursor.length - 3)],
    ['/v1/projects/myproj/tokens', cursor.slice(0, -4)],
    ['/v1/projects/myproj/tokens', `${cursor}AAAA`],
    ['/v1/projects/myproj/tokens', 'eyJwayI6IlBST0pFQ1QjIn0'],
    ['/v1/projects/myproj/tokens', '💥'],
    ['/v1/projects/myproj/tokens', strange ?? 'x']
  ]
  for (const [url, c] of wrong)
    t.match((await at(url, c)).json(), { status: 400, code: 'invalid-cursor' }, `${url} ${c}`)
})

t.test('servers that share a key understand each other’s cursors', async t => {
  const environments: Record<string, string>[] = [{ CURSOR_KEY: 'shared-key' }, { ADMIN_TOKEN: 'shared-token' }]
  for (const env of environments) {
    const pages = await Promise.all(
      [1, 2].map(async () => {
        const { app, raw } = await start(t, { domains: ['projects'], env })
        const api = callers(app).as('shared-token')
        await api.post('/v1/projects', { name: 'myproj', repository })
        for (let i = 0; i < 3; i++) {
          await raw.put('projects', { pk: 'PROJECT#myproj', sk: `TOKEN#tkn-${i}`, created_at: 'x', expires_at: 'x' })
        }
        return { api, cursor: (await api.get('/v1/projects/myproj/tokens?limit=1')).json().cursor as string }
      })
    )
    const [one, two] = pages as [(typeof pages)[0], (typeof pages)[0]]
    const next = await two.api.get(`/v1/projects/myproj/tokens?limit=1&cursor=${one.cursor}`)
    t.match(next.json(), { items: [{ tokenId: 'tkn-1' }] })
  }
})

t.test('identifiers cannot reach other items', async t => {
  const { api, raw } = await begin(t)
  const before = await raw.all('projects')
  const bad = ['a#b', '#', 'a\u0000b', 'a\nb', '\u007f', 'x'.repeat(1025), 'é'.repeat(600)]
  for (const id of bad) {
    const part = encodeURIComponent(id)
    for (const url of [
      `/v1/projects/${part}`,
      `/v1/projects/myproj/tokens/${part}`,
      `/v1/projects/myproj/targets/${part}`
    ]) {
      t.equal((await api.get(url)).statusCode, 400, `GET ${url.slice(0, 60)}`)
      t.equal((await api.delete(url)).statusCode, 400, `DELETE ${url.slice(0, 60)}`)
    }
  }
  for (const url of ['/v1/projects/%ZZ', '/v1/projects/%ff', '/v1/projects/%ed%a0%80']) {
    const res = await api.get(url)
    t.match(res.json(), { status: 400, code: 'invalid-request' }, url)
    t.equal(res.headers['content-type'], 'application/problem+json')
  }
  t.strictSame(await raw.all('projects'), before, 'nothing has changed')
})

t.test('an identifier of more than 1,024 bytes is refused wherever it stands', async t => {
  const { app, api } = await start(t)
  const document = await documentOf(app)
  const long = encodeURIComponent('é'.repeat(513))
  for (const { path, method, operation } of operationsOf(document)) {
    // A token of another project is not active; no key is made of the name.
    if (path.endsWith('/introspect')) continue
    const { url, body } = exampleRequest(document, path, operation)
    for (const [i, part] of path.split('/').entries()) {
      if (!part.startsWith('{')) continue
      const answer = await api.call(method as 'GET', url.split('/').with(i, long).join('/'), body)
      t.match(answer.json(), { status: 400, code: /^invalid-(key|request)$/ }, `${method} ${path} ${part}`)
    }
  }
})

t.test('what JSON can say and DynamoDB cannot store', async t => {
  const { api, raw } = await begin(t)
  const put = (payload: string) =>
    api.call('PUT', '/v1/projects/myproj/targets/prod', payload, { 'content-type': 'application/json' })
  const nested = (levels: number) => `{"type":"x","properties":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`
  t.equal((await put(nested(31))).statusCode, 201, 'what is in 31 maps is at level 32')
  const tooDeep = { status: 400, code: 'nesting-too-deep' }
  t.match((await put(nested(32))).json(), tooDeep)
  t.match((await put(nested(31).replace('1', '{}'))).json(), tooDeep, 'an empty map is a map')
  t.match((await put(nested(33))).json(), tooDeep)
  t.match((await put(nested(150_000))).json(), tooDeep)
  t.match((await put(`{"type":"x","properties":${'['.repeat(40)}${']'.repeat(40)}}`)).json(), { status: 400 })
  for (const value of ['1e400', '1e126', '-1e126', '1e-131', '"\\ud800"', '{"\\udc00":1}']) {
    t.match(
      (await put(`{"type":"x","properties":{"v":${value}}}`)).json(),
      { status: 400, code: 'invalid-request' },
      value
    )
  }
  for (const value of ['1e125', '-0.1', '9007199254740993', '"\\ud83d\\udca5"', '""', 'null', '[]', '{}']) {
    t.ok((await put(`{"type":"x","properties":{"v":${value}}}`)).statusCode < 300, value)
  }
  for (const properties of ['{"__proto__":{"a":1}}', '{"a":[{"__proto__":null}]}', '{"\\u005f_proto__":1}']) {
    const refused = (await put(`{"type":"x","properties":${properties}}`)).json()
    t.match(refused, { status: 400, code: 'invalid-request', detail: /__proto__/ }, properties)
  }
  t.match((await put('{"type":"x","properties":{},"__proto__":{"a":1}}')).json(), { status: 400 })
  for (const name of ['', 'x'.repeat(65_536), 'é'.repeat(32_768)]) {
    for (const properties of [{ [name]: 1 }, { a: [{ b: { [name]: null } }] }]) {
      const refused = (await put(JSON.stringify({ type: 'x', properties }))).json()
      t.match(refused, { status: 400, code: 'invalid-request', detail: /name/ }, `${name.length} characters`)
    }
  }
  t.ok((await put(JSON.stringify({ type: 'x', properties: { ['x'.repeat(65_535)]: 1 } }))).statusCode < 300)
  const names = { constructor: { prototype: { x: 1 } }, toString: null, hasOwnProperty: [], __proto: { prototype: 1 } }
  const kept = await put(JSON.stringify({ type: 'x', properties: names }))
  t.equal(canonical(kept.json().properties), canonical(names), 'other names are names')
  const patched = await api.patch('/v1/projects/myproj/targets/prod', { type: 'y', properties: { valueOf: { y: 1 } } })
  t.equal(canonical(patched.json().properties), canonical({ ...names, valueOf: { y: 1 } }))
  t.equal(canonical((await api.get('/v1/projects/myproj/targets/prod')).json()), canonical(patched.json()))
  t.equal(({} as { y?: number }).y, undefined, 'and nobody’s prototype has changed')
  t.match((await put('{"type":"x"')).json(), { status: 400, code: 'invalid-json' })
  const big = (bytes: number) => JSON.stringify({ type: 'x', properties: { v: 'é'.repeat(bytes / 2) } })
  t.match((await put(big(409_600))).json(), { status: 413, code: 'item-too-large' })
  t.equal((await put(big(409_000))).statusCode, 200)
  t.match((await put(big(1_200_000))).json(), { status: 413, code: 'body-too-large' })
  const grown = await api.patch('/v1/projects/myproj/targets/prod', { properties: { w: 'x'.repeat(5000) } })
  t.match(grown.json(), { status: 413, code: 'item-too-large' }, 'also where an update makes it too large')
  t.equal((await raw.query('projects', 'PROJECT#myproj')).length, 2)
})

t.test('the rate is limited if it is said to be', async t => {
  const { api } = await begin(t, { RATE_LIMIT: '5' })
  const answers = []
  for (let i = 0; i < 6; i++) answers.push(await api.get('/v1/projects/myproj'))
  const refused = answers.at(-1)
  t.match(refused?.json(), { status: 429, code: 'too-many-requests' })
  t.match(refused?.headers['retry-after'], /^\d+$/)
  for (const url of ['/%761/projects/myproj', '/v1/nosuch']) t.equal((await api.get(url)).statusCode, 429, url)
  t.equal((await api.get('/healthz')).statusCode, 200)
})

t.test('who guesses tokens or addresses is slowed down, too', async t => {
  const { api } = await start(t, { domains: ['projects'], env: { RATE_LIMIT: '5', ADMIN_TOKEN: 'secret' } })
  const codes = []
  for (let i = 0; i < 7; i++) codes.push((await api.as(`guess-${i}`).get('/v1/projects/myproj')).statusCode)
  t.strictSame(codes, [401, 401, 401, 401, 401, 429, 429])
})

t.test('CORS is for the listed origins', async t => {
  const { api } = await begin(t, { CORS_ORIGIN: 'https://app.example.com' })
  const ask = (origin: string) =>
    api.call('OPTIONS', '/v1/projects/myproj', undefined, { origin, 'access-control-request-method': 'PATCH' })
  const allowed = await ask('https://app.example.com')
  t.equal(allowed.headers['access-control-allow-origin'], 'https://app.example.com')
  t.match(allowed.headers['access-control-allow-methods'], 'PATCH')
  t.equal((await ask('https://evil.example.com')).headers['access-control-allow-origin'], undefined)
  for (const headers of [{}, { origin: 'https://app.example.com' }] as Record<string, string>[]) {
    const options = await api.call('OPTIONS', '/v1/projects/myproj', undefined, headers)
    t.strictSame(
      [options.statusCode, options.headers.allow],
      [204, 'DELETE, GET, HEAD, OPTIONS, PATCH'],
      'no preflight'
    )
    t.match((await api.call('OPTIONS', '/nosuch', undefined, headers)).json(), { status: 404, code: 'not-found' })
  }
})

t.test('a preflight needs no token, and what follows it does', async t => {
  const env = { CORS_ORIGIN: 'https://app.example.com', ADMIN_TOKEN: 'secret' }
  const { api } = await start(t, { domains: ['projects'], env })
  const origin = 'https://app.example.com'
  const asked = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'authorization,if-match' }
  const preflight = await api.call('OPTIONS', '/v1/projects/myproj', undefined, { origin, ...asked })
  t.equal(preflight.statusCode, 204)
  t.equal(preflight.headers['access-control-allow-headers'], 'authorization,if-match')
  const refused = await api.get('/v1/projects/myproj', { origin })
  t.equal(refused.statusCode, 401)
  t.equal(refused.headers['access-control-allow-origin'], origin, 'the page may read why')
  t.match(refused.headers['access-control-expose-headers'], 'WWW-Authenticate')
  t.equal((await api.call('OPTIONS', '/v1/projects/myproj', undefined, { origin })).statusCode, 401)
})

t.test('throttling and lost connections are 503 with Retry-After', async t => {
  let failure = ''
  const { endpoint } = await standIn(t, (_asked, _n, response) =>
    failure === 'reset' ? response.socket?.destroy() : refuse(response, failure, { message: 'secret detail of cello' })
  )
  const { api, database } = await start(t, { domains: ['projects'], env: { DYNAMODB: endpoint } })
  database.dynamo('projects').client.config.maxAttempts = async () => 1
  for (failure of ['ProvisionedThroughputExceededException', 'ThrottlingException', 'reset']) {
    const res = await api.get('/v1/projects/myproj')
    t.match(res.json(), { status: 503, code: 'database-unavailable' }, failure)
    t.equal(res.headers['retry-after'], '1')
    t.notMatch(res.body, /secret|cello/)
  }
})

t.test('two apps in one process do not see each other', async t => {
  const [one, two] = [await begin(t), await start(t, { domains: ['projects'] })]
  t.equal((await one.api.get('/v1/projects/myproj')).statusCode, 200)
  t.equal((await two.api.get('/v1/projects/myproj')).statusCode, 404)
  t.notMatch((await two.api.get('/metrics')).body, 'status="200"')
})

t.test('the link to the next page is the address of this one with another cursor, whatever it holds', async t => {
  const texts = [
    'limit=2',
    'cursor=old',
    '%63ursor=old',
    'xcursor=1',
    'a=%26b&c=+',
    'x=<y>',
    'x="é"',
    'cursor',
    'a=1&&b',
    ''
  ]
  const address = fc.record({
    origin: fc.constantFrom('', 'http://elsewhere'),
    path: fc.constantFrom('/v1/a', '/v1/a/', '/v1/a%20b/c', '/v1/<a>', '/v1/é', '/v1//a'),
    query: fc.option(fc.array(fc.constantFrom(...texts), { minLength: 1 }).map(parts => parts.join('&')))
  })
  fc.assert(
    fc.property(address, ({ origin, path, query }) => {
      const url = `${origin}${path}${query === null ? '' : `?${query}`}`
      const next = nextLink({ url }, { items: [], cursor: 'new-cursor_1' }) as string
      t.match(next, /^\/[\x21-\x7e]*$/)
      t.notMatch(next, /[<>"]/)
      const [before, after] = [url, next].map(one => new URL(one, 'http://localhost')) as [URL, URL]
      before.searchParams.set('cursor', 'new-cursor_1')
      t.equal(after.pathname, before.pathname)
      t.strictSame([...after.searchParams], [...before.searchParams])
    })
  )
})
