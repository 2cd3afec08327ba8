import t from 'tap'
import { start, unique, walk } from './helpers.js'
import { shuffled } from './hosting-races.js'

const started = await start(t, { domains: ['hosting'] })
const { api, raw, counted } = started
const routing = { routes: { '/': 1 }, lambdaRoutes: { '/api': 'fn' }, prerenders: { '/blog': [] } }

/** A finished deployment with routes; with a stack if one is given. */
async function deployed(cfStack?: string) {
  const { deploymentId } = (await api.post('/v1/deployments', {})).json()
  await api.put(`/v1/deployments/${deploymentId}/status`, { status: 'FINISHED', cfStack, ...routing })
  return deploymentId as string
}
const alias = (body: object) => api.post('/v1/aliases', body)
const host = () => `${unique('h')}.example.com`
const reversed = (hostname: string) => hostname.split('.').reverse().join('.')
const pair = async (hostname: string, basePath = '/') =>
  Promise.all(['ROUTES', 'CONFIGNEXTJS'].map(pk => raw.get('aliases', pk, `${reversed(hostname)}#${basePath}`)))

t.test('an alias is created, read and deleted within its budgets', async t => {
  const target = await deployed()
  const hostname = host()
  const url = `/v1/aliases/${hostname}?basePath=/docs`
  const made = await counted(() =>
    alias({ hostname: hostname.toUpperCase(), basePath: '/docs', target, config: { a: 1 } })
  )
  t.ok(made.requests.length <= 3, made.requests.join())
  t.equal(made.result.statusCode, 201)
  t.equal(made.result.headers.location, `/v1/aliases/${hostname}?basePath=%2Fdocs`)
  const expected = {
    hostname,
    basePath: '/docs',
    deploymentId: target,
    deploymentAlias: false,
    ...routing,
    config: { a: 1 }
  }
  const { createDate, ...answer } = made.result.json()
  t.strictSame(answer, expected)
  t.equal((await api.get(String(made.result.headers.location))).statusCode, 200)

  const got = await counted(() => api.get(url))
  t.equal(got.requests.length, 1)
  t.strictSame(got.result.json(), { ...expected, createDate })
  t.equal((await api.get(url, { 'if-none-match': String(got.result.headers.etag) })).statusCode, 304)
  t.equal((await api.get(`/v1/aliases/${hostname}`)).statusCode, 404, 'the root is another alias')

  const gone = await counted(() => api.delete(url))
  t.ok(gone.requests.length <= 2, gone.requests.join())
  t.equal(gone.result.statusCode, 204)
  t.strictSame(await pair(hostname, '/docs'), [undefined, undefined])
  for (const again of [await api.delete(url), await api.get(url)]) t.match(again.json(), { code: 'alias-not-found' })
})

t.test('an alias stands for its deployment as a target', async t => {
  const target = await deployed()
  const [one, two, three] = [host(), host(), host()]
  await alias({ hostname: one, target })
  await alias({ hostname: two, basePath: '/a/b', target: one })
  const last = await counted(() => alias({ hostname: three, target: `${two.toUpperCase()}/a/b` }))
  t.equal(last.requests.length, 3)
  t.match(last.result.json(), { deploymentId: target, basePath: '/', ...routing })
  for (const unknown of ['nosuch', `${two}/`, `${two}/a`, `${host()}/`, '*.example.org/']) {
    const response = await alias({ hostname: host(), target: unknown })
    t.match(response.json(), { status: 404, code: 'target-not-found' }, unknown)
  }
})

t.test('what is not an alias is refused, by the name of the field', async t => {
  const target = await deployed()
  const bad = {
    hostname: [
      '',
      'a b.com',
      'a..b',
      '.a',
      'a.',
      '-a.com',
      'a-.com',
      'a.*.com',
      '*',
      '*.',
      '*.*.com',
      'ä.com',
      'a#b.com',
      'a/b',
      'a:80',
      `${'a'.repeat(64)}.com`,
      `${'a.'.repeat(130)}com`,
      7,
      null
    ],
    basePath: [
      '',
      'docs',
      '/docs/',
      '//',
      '/a//b',
      '/a?b',
      '/a#b',
      '/..',
      '/a/../b',
      '/a..b',
      '/\u0000',
      '/a'.repeat(50),
      7
    ],
    target: ['', 'a#b', 7, null],
    deploymentAlias: ['true', 1],
    override: ['true', 1],
    config: ['{}', [], 7, null],
    other: [1]
  }
  for (const [field, values] of Object.entries(bad)) {
    for (const value of values) {
      const response = await alias({ hostname: host(), target, [field]: value })
      t.match(
        response.json(),
        { status: 400, errors: [{ path: `body/${field}` }] },
        `${field}: ${JSON.stringify(value)}`
      )
    }
  }
  const missing = (await alias({})).json().errors.map((error: { path: string }) => error.path)
  t.strictSame(missing.sort(), ['body/hostname', 'body/target'])
  const long = await alias({ hostname: host(), basePath: `/${'ä'.repeat(500)}`, target })
  t.match(long.json(), { status: 400, code: 'invalid-key' })
  t.equal((await alias({ hostname: host(), basePath: '/a'.repeat(49), target })).statusCode, 201, 'the deepest')
})

t.test('exactly one of many callers creates an alias', async t => {
  const target = await deployed()
  const hostname = host()
  const calls = await shuffled(started, () =>
    Promise.all(Array.from({ length: 24 }, (_, n) => alias({ hostname, target, config: { n } })))
  )
  t.strictSame(calls.map(call => call.statusCode).sort(), [201, ...Array(23).fill(409)])
  t.ok(calls.every(call => call.statusCode === 201 || call.json().code === 'alias-exists'))
  const winner = calls.find(call => call.statusCode === 201)?.json()
  t.strictSame((await api.get(`/v1/aliases/${hostname}`)).json(), winner)
})

t.test('override moves both halves of an alias and keeps what it does not know', async t => {
  const [a, b] = [await deployed(), await deployed()]
  const hostname = host()
  await alias({ hostname, target: a, config: { of: 'a' } })
  for (const half of await pair(hostname)) await raw.put('aliases', { ...half, strange: new Set(['kept']) })
  const moved = await counted(() => alias({ hostname, target: b, override: true }))
  t.ok(moved.requests.length <= 3)
  t.equal(moved.result.statusCode, 200)
  t.match(moved.result.json(), { deploymentId: b, config: { of: 'a' } }, 'the config moves with it')
  const [route, config] = await pair(hostname)
  t.match([route?.DeploymentId, route?.GSI1PK, config?.DeploymentId, config?.GSI1PK], [b, `D#${b}`, b, `D#${b}`])
  t.equal(route?.CreateDate, config?.CreateDate)
  t.strictSame([route?.strange, config?.strange], [new Set(['kept']), new Set(['kept'])])
  t.strictSame(await walk(api, `/v1/deployments/${a}/aliases`), [])

  t.match((await alias({ hostname, target: a, override: true, config: { of: 'b' } })).json(), { config: { of: 'b' } })
  t.match((await alias({ hostname, target: a })).json(), { status: 409, code: 'alias-exists' })
  t.match((await alias({ hostname, target: 'nosuch', override: true })).json(), {
    status: 404,
    code: 'target-not-found'
  })
  t.equal((await alias({ hostname: host(), target: a, override: true })).statusCode, 201, 'there was none to move')
})

t.test('a config that others left behind is not taken for a new alias’s', async t => {
  const target = await deployed()
  const hostname = host()
  const SK = `${reversed(hostname)}#/`
  await raw.put('aliases', { PK: 'CONFIGNEXTJS', SK, GSI1PK: 'D#old', GSI1SK: `x#CN#${SK}`, Config: { old: true } })
  t.equal((await alias({ hostname, target })).json().config, undefined)
  t.equal((await pair(hostname))[1], undefined)
})

t.test('a deployment’s own alias goes only with its deployment', async t => {
  const target = await deployed()
  const hostname = host()
  t.match((await alias({ hostname, target, deploymentAlias: true })).json(), { deploymentAlias: true })
  const other = await deployed()
  t.match((await alias({ hostname, target: other, override: true })).json(), { status: 409, code: 'deployment-alias' })
  t.match((await alias({ hostname, target: other })).json(), { status: 409, code: 'alias-exists' })
  t.match((await api.delete(`/v1/aliases/${hostname}`)).json(), { status: 409, code: 'deployment-alias' })
  t.equal((await api.delete(`/v1/deployments/${target}`)).statusCode, 204)
  t.equal((await api.get(`/v1/aliases/${hostname}`)).statusCode, 404)
})

t.test('If-Match on an alias', async t => {
  const target = await deployed()
  for (const config of [undefined, { a: { b: [1] } }]) {
    const hostname = host()
    await alias({ hostname, target, config })
    const url = `/v1/aliases/${hostname}`
    const tag = String((await api.get(url)).headers.etag)
    await alias({ hostname, target, override: true })
    t.match((await api.delete(url, { 'if-match': tag })).json(), { status: 412 }, 'it was moved since')
    const fresh = String((await api.get(url)).headers.etag)
    t.equal((await api.delete(url, { 'if-match': fresh })).statusCode, 204)
    t.equal((await pair(hostname))[1], undefined)
  }
})

t.test('the aliases of a deployment: newest first, one row each, whole pages', async t => {
  const target = await deployed()
  const url = `/v1/deployments/${target}/aliases`
  t.strictSame((await api.get(url)).json(), { items: [], cursor: null })
  const hosts: string[] = []
  for (let n = 0; n < 9; n++) {
    const hostname = host()
    hosts.unshift(hostname)
    await alias({ hostname, target, basePath: '/x', config: n % 3 === 0 ? undefined : { n } })
  }
  const { result, requests } = await counted(() => api.get(`${url}?limit=4`))
  t.ok(requests.length <= 2, requests.join())
  const { items, cursor } = result.json()
  t.equal(items.length, 4)
  t.strictSame(Object.keys(items[0]).sort(), ['basePath', 'createDate', 'deploymentAlias', 'deploymentId', 'hostname'])
  for (const limit of [1, 2, 4, 5, 9, 100]) {
    const all = await walk(api, `${url}?limit=${limit}`)
    t.strictSame(
      all.map(row => row.hostname),
      hosts,
      `by ${limit}`
    )
  }
  const other = await deployed()
  t.equal((await api.get(`/v1/deployments/${other}/aliases?limit=4&cursor=${cursor}`)).statusCode, 400)
  t.match((await api.get('/v1/deployments/nosuch/aliases')).json(), { status: 404, code: 'deployment-not-found' })
})
