import fc from 'fast-check'
import t from 'tap'
import { basePathsOf } from '../src/services/hostnames.js'
import { start, unique } from './helpers.js'

const { api, raw, counted } = await start(t, { domains: ['hosting'] })

interface Alias {
  hostname: string
  basePath: string
}

/** A Route as the original system writes it. */
function store({ hostname, basePath }: Alias) {
  const HostnameRev = hostname.split('.').reverse().join('.')
  const [SK, CreateDate] = [`${HostnameRev}#${basePath}`, '2024-01-01T00:00:00.000Z']
  const keys = { PK: 'ROUTES', SK, GSI1PK: 'D#dep', GSI1SK: `${CreateDate}#R#${SK}` }
  const texts = { Routes: '{}', LambdaRoutes: '{}', Prerenders: '{}' }
  const data = {
    HostnameRev,
    BasePath: basePath,
    DeploymentId: 'dep',
    CreateDate,
    DeploymentAlias: false,
    ItemVersion: 1
  }
  return raw.put('aliases', { ...keys, ...data, ...texts })
}

const ask = (hostname: string, path?: string) =>
  api.get(`/v1/resolve?${new URLSearchParams({ hostname, ...(path === undefined ? {} : { path }) })}`)

async function resolve(hostname: string, path?: string): Promise<string> {
  const response = await ask(hostname, path)
  if (response.statusCode !== 200) return String(response.statusCode)
  const alias = response.json() as Alias
  return `${alias.hostname} ${alias.basePath}`
}

const aliases = [
  'example.com /',
  'example.com /docs',
  'example.com /docs/v2',
  'example.com /docs/v2/api/users',
  'example.com /Docs2',
  'example.com /a b/ü',
  'www.example.com /docs',
  '*.example.com /',
  '*.example.com /docs',
  '*.deep.example.com /',
  'com2.example /',
  'example2.com /',
  'only.org /app',
  'x.only.org /',
  'localhost /',
  '*.wild.net /app',
  'exact.wild.net /other',
  '%.odd /'
]
const table: [hostname: string, path: string | undefined, answer: string][] = [
  ['example.com', '/', 'example.com /'],
  ['example.com', undefined, 'example.com /'],
  ['EXAMPLE.com', '/docs', 'example.com /docs'],
  ['example.com', '/docs', 'example.com /docs'],
  ['example.com', '/docs/', 'example.com /docs'],
  ['example.com', '/docs/a', 'example.com /docs'],
  ['example.com', '/docsy', 'example.com /'],
  ['example.com', '/docs.html', 'example.com /'],
  ['example.com', '/docs-2/a', 'example.com /'],
  ['example.com', '/doc', 'example.com /'],
  ['example.com', '/DOCS', 'example.com /'],
  ['example.com', '/Docs2/x', 'example.com /Docs2'],
  ['example.com', '/docs/v2', 'example.com /docs/v2'],
  ['example.com', '/docs/v2/', 'example.com /docs/v2'],
  ['example.com', '/docs/v22', 'example.com /docs'],
  ['example.com', '/docs/v2/api', 'example.com /docs/v2'],
  ['example.com', '/docs/v2/api/users', 'example.com /docs/v2/api/users'],
  ['example.com', '/docs/v2/api/users/1/posts', 'example.com /docs/v2/api/users'],
  ['example.com', '/docs//v2', 'example.com /docs'],
  ['example.com', '//docs', 'example.com /'],
  ['example.com', '/x/docs', 'example.com /'],
  ['example.com', '/a b/ü/c', 'example.com /a b/ü'],
  ['example.com', '/a%20b/ü', 'example.com /'],
  ['example.com', `/docs${'/s'.repeat(400)}`, 'example.com /docs'],
  ['example.com', `/docs/${'x'.repeat(5000)}`, 'example.com /docs'],
  ['www.example.com', '/docs/a', 'www.example.com /docs'],
  ['www.example.com', '/', '*.example.com /'],
  ['www.example.com', '/docsy', '*.example.com /'],
  ['other.example.com', '/docs', '*.example.com /docs'],
  ['other.example.com', '/docs/v2', '*.example.com /docs'],
  ['deep.example.com', '/', '*.example.com /'],
  ['a.deep.example.com', '/docs', '*.deep.example.com /'],
  ['a.b.example.com', '/', '404'],
  ['a.b.deep.example.com', '/', '404'],
  ['example2.com', '/', 'example2.com /'],
  ['example2.com', '/docs', 'example2.com /'],
  ['example', '/', '404'],
  ['example.co', '/', '404'],
  ['com', '/', '404'],
  ['notexample.com', '/', '404'],
  ['only.org', '/', '404'],
  ['only.org', '/app', 'only.org /app'],
  ['only.org', '/apple', '404'],
  ['y.only.org', '/app', '404'],
  ['x.only.org', '/app', 'x.only.org /'],
  ['localhost', '/any', 'localhost /'],
  ['a.wild.net', '/app/x', '*.wild.net /app'],
  ['a.wild.net', '/', '404'],
  ['exact.wild.net', '/app', '*.wild.net /app'],
  ['exact.wild.net', '/other', 'exact.wild.net /other'],
  ['wild.net', '/app', '404'],
  ['*.wild.net', '/app', '400'],
  ['', '/', '400'],
  ['a#b', '/', '400'],
  ['example.com', 'docs', '400'],
  ['example.com', '/a?b', '400'],
  ['example.com', '/a#b', '400'],
  ['example.com', '', '400'],
  ['example.com:80', '/', '400'],
  ['%.odd', '/', '400']
]

t.test('a table of hosts and paths', async t => {
  for (const alias of aliases) {
    const space = alias.indexOf(' ')
    await store({ hostname: alias.slice(0, space), basePath: alias.slice(space + 1) })
  }
  for (const [hostname, path, answer] of table) {
    t.equal(await resolve(hostname, path), answer, `${hostname}${path?.slice(0, 40)}`)
  }
  t.equal((await api.get('/v1/resolve?path=/')).statusCode, 400)
  t.equal((await api.get('/v1/resolve?hostname=a&hostname=b')).statusCode, 400)
})

t.test('one request for an exact host, two with a wildcard, however deep the path', async t => {
  for (const path of ['/', '/docs/v2/api/users/1', '/s'.repeat(400)]) {
    t.strictSame((await counted(() => ask('example.com', path))).requests, ['BatchGetItem'])
    t.strictSame((await counted(() => ask('other.example.com', path))).requests, ['BatchGetItem', 'BatchGetItem'])
  }
  t.strictSame((await counted(() => ask('nothing.test', '/'))).requests.length, 2)
})

t.test('the deepest alias and the one after it', async t => {
  const hostname = `${unique('h')}.test`
  await store({ hostname, basePath: '/d'.repeat(49) })
  await store({ hostname, basePath: '/d'.repeat(48) })
  t.equal(await resolve(hostname, '/d'.repeat(60)), `${hostname} ${'/d'.repeat(49)}`)
  t.equal(await resolve(hostname, `${'/d'.repeat(48)}/e`), `${hostname} ${'/d'.repeat(48)}`)
})

t.test('hundreds of neighbours on one host do not matter', async t => {
  const hostname = `${unique('h')}.test`
  const neighbours = Array.from({ length: 300 }, (_, n) => `/docs${['', '-', '!', '0', '~', '.'][n % 6]}${n}`)
  await Promise.all(['/', '/docs', ...neighbours].map(basePath => store({ hostname, basePath })))
  const { result, requests } = await counted(() => ask(hostname, '/docs/~/z'))
  t.equal(result.json().basePath, '/docs')
  t.equal(requests.length, 1)
})

t.test('the config comes along, also when it is seen in the middle of a move', async t => {
  const { deploymentId: target } = (await api.post('/v1/deployments', {})).json()
  const hostname = `${unique('h')}.test`
  await api.post('/v1/aliases', { hostname, basePath: '/a', target, config: { of: '/a' } })
  await api.post('/v1/aliases', { hostname, target, config: { of: '/' } })
  t.strictSame((await ask(hostname, '/a/b')).json().config, { of: '/a' })
  t.strictSame((await ask(hostname, '/ab')).json().config, { of: '/' })
  t.strictSame((await ask(hostname, '/a')).json(), (await api.get(`/v1/aliases/${hostname}?basePath=/a`)).json())

  const SK = `${hostname.split('.').reverse().join('.')}#/a`
  await raw.put('aliases', { ...(await raw.get('aliases', 'CONFIGNEXTJS', SK)), DeploymentId: 'other' })
  const { result, requests } = await counted(() => ask(hostname, '/a'))
  t.strictSame(requests, ['BatchGetItem', 'TransactGetItems'], 'the halves disagree, so both are read as one')
  t.match(result.json(), { deploymentId: target, config: { of: '/a' } })
})

/** What resolve should do, said as plainly as possible. */
function model(all: Alias[], hostname: string, path: string): string {
  const serves = (alias: Alias) =>
    alias.basePath === '/' || path === alias.basePath || path.startsWith(`${alias.basePath}/`)
  const best = (host: string) =>
    all
      .filter(alias => alias.hostname === host && serves(alias))
      .sort((a, b) => b.basePath.length - a.basePath.length)[0]
  const [, ...parent] = hostname.split('.')
  const alias = best(hostname) ?? best(`*.${parent.join('.')}`)
  return alias ? `${alias.hostname} ${alias.basePath}` : '404'
}

t.test('resolve agrees with a naive model', async t => {
  const label = fc.constantFrom('a', 'b', 'ab', 'a-b', 'com')
  const segment = fc.constantFrom('d', 'do', 'docs', 'docs2', 'd-', 'D', 'ü', '~', '.')
  const basePath = fc.array(segment, { maxLength: 4 }).map(segments => `/${segments.join('/')}`)
  const name = fc.array(label, { minLength: 1, maxLength: 3 }).map(labels => labels.join('.'))
  const host = fc.oneof(
    name,
    name.map(parent => `*.${parent}`)
  )
  const path = fc.array(fc.oneof(segment, fc.constant('')), { maxLength: 6 }).map(segments => `/${segments.join('/')}`)
  const question = fc.record({ hostname: name, path })
  const property = fc.asyncProperty(
    fc.array(fc.record({ hostname: host, basePath }), { minLength: 1, maxLength: 12 }),
    fc.array(question, { minLength: 1, maxLength: 6 }),
    async (some, questions) => {
      // A top level of its own keeps the runs apart.
      const top = unique('t')
      const all = some.map(one => ({ ...one, hostname: `${one.hostname}.${top}` }))
      await Promise.all(all.map(store))
      for (const { hostname, path } of questions) {
        const [asked, answer] = [`${hostname}.${top}`, model(all, `${hostname}.${top}`, path)]
        const found = await resolve(asked, path)
        if (found !== answer) throw new Error(`${asked} ${path}: ${found} instead of ${answer}`)
      }
    }
  )
  await fc.assert(property, { numRuns: 40, seed: 4 })
  t.pass('60 sets of aliases')
})

t.test('the base paths of a path', async t => {
  t.strictSame(basePathsOf('/'), ['/'])
  t.strictSame(basePathsOf('/a/b/'), ['/', '/a', '/a/b'])
  t.strictSame(basePathsOf('/a//b'), ['/', '/a', '/a//b'])
  t.equal(basePathsOf('/a'.repeat(400)).length, 50, 'never more than one request can ask for, with their configs')
})
