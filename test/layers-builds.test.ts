import t from 'tap'
import { start, walk } from './helpers.js'
import { buildBody, layerBody, sha256 } from './layers-helpers.js'
import { roundsOf, startNodes } from './layers-race.js'

const begin = (t: Parameters<typeof start>[0]) => start(t, { domains: ['layers'] })

t.test('builds count on, and the latest of each package is one query', async t => {
  const { api, counted, seen } = await begin(t)
  const first = await counted(() => api.post('/v1/builds', buildBody()))
  t.strictSame(first.requests, ['GetItem', 'TransactWriteItems'])
  t.equal(first.result.statusCode, 201)
  t.equal(first.result.headers.location, '/v1/builds/requests/1')
  const text = 'requests==2.33.0\n'
  const second = await api.post('/v1/builds', buildBody({ requirementsTxt: text, requirementsHash: sha256(text) }))
  t.match(second.json(), { package: 'requests', version: 2, requirementsTxt: text, requirementsHash: sha256(text) })
  const latest = await counted(() => api.get('/v1/builds/requests'))
  t.strictSame(latest.requests, ['GetItem'])
  t.strictSame(latest.result.json(), second.json())
  const one = await counted(() => api.get('/v1/builds/requests/1'))
  t.strictSame(one.requests, ['GetItem'])
  t.strictSame(one.result.json(), first.result.json())
  t.match(seen.at(-1)?.input, { ConsistentRead: true }, 'it is there as soon as its Location is told')
  for (const name of ['numpy', 'zope.interface']) await api.post('/v1/builds', buildBody({ package: name }))
  const list = await counted(() => api.get('/v1/builds?limit=2'))
  t.strictSame(list.requests, ['Query'])
  const all = await walk(api, '/v1/builds?limit=1')
  t.strictSame(
    all.map(item => `${item.package} ${item.version}`),
    ['numpy 1', 'requests 2', 'zope.interface 1']
  )
})

t.test('builds that are not there, or not valid', async t => {
  const { api } = await begin(t)
  for (const path of ['builds/requests', 'builds/requests/1', 'packages/requests/drift']) {
    t.match((await api.get(`/v1/${path}`)).json(), { status: 404, code: 'build-not-found' }, path)
  }
  for (const more of [
    { package: 'a#b' },
    { requirementsHash: sha256('x') },
    { region: 'eu-west-1' },
    { requirementsTxt: 7 }
  ]) {
    t.equal((await api.post('/v1/builds', buildBody(more))).statusCode, 400)
  }
  t.strictSame((await api.get('/v1/builds')).json(), { items: [], cursor: null })
})

t.test('ten builders of one package get ten numbers', async t => {
  const nodes = await startNodes(t, 10)
  const answers = await Promise.all(nodes.map(({ api }) => api.post('/v1/builds', buildBody())))
  const numbers = answers.map(answer => answer.json().version).sort((a, b) => a - b)
  t.strictSame(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  t.ok(roundsOf(nodes).lost > 0, 'they did meet')
  t.equal((await nodes[0]?.api.get('/v1/builds/requests'))?.json().version, 10)
})

t.test('drift names the regions that are behind', async t => {
  const { api, counted } = await begin(t)
  const text = 'requests==3\n'
  await api.post('/v1/layers', layerBody({ region: 'us-east-1' }))
  await api.post('/v1/layers', layerBody({ region: 'eu-west-1' }))
  await api.post('/v1/layers', layerBody({ region: 'eu-west-1', requirementsTxt: text }))
  await api.post('/v1/builds', buildBody())
  await api.post('/v1/builds', buildBody({ requirementsTxt: text }))
  const { requests, result } = await counted(() => api.get('/v1/packages/requests/drift'))
  t.strictSame(requests.sort(), ['GetItem', 'Query'])
  const byRegion = result
    .json()
    .items.sort((a: { region: string }, b: { region: string }) => (a.region < b.region ? -1 : 1))
  const latestHash = sha256(text)
  t.strictSame(byRegion, [
    { region: 'eu-west-1', version: 2, deployedHash: latestHash, latestHash, current: true },
    { region: 'us-east-1', version: 1, deployedHash: sha256('requests==2.32.3\n'), latestHash, current: false }
  ])
  t.equal((await walk(api, '/v1/packages/requests/drift?limit=1')).length, 2)
})
