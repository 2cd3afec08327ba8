import t from 'tap'
import { start, unique, walk } from './helpers.js'
import { shuffled } from './hosting-races.js'

const started = await start(t, { domains: ['hosting'] })
const { api, raw, counted } = started
const host = () => `${unique('h')}.example.com`

async function deployed() {
  const { deploymentId } = (await api.post('/v1/deployments', {})).json()
  await api.put(`/v1/deployments/${deploymentId}/status`, { status: 'FINISHED', routes: { of: deploymentId } })
  return deploymentId as string
}
async function aliased(target: string, more: object = {}) {
  const hostname = host()
  await api.post('/v1/aliases', { hostname, target, ...more })
  return hostname
}
const pointsAt = async (hostname: string) => (await api.get(`/v1/aliases/${hostname}`)).json().deploymentId
const swap = (moves: unknown) => api.post('/v1/aliases:swap', moves)
const revert = (hostname: string, body?: object) => api.post(`/v1/aliases/${hostname}/revert`, body)
const history = (hostname: string, query = '') => walk(api, `/v1/aliases/${hostname}/history${query}`)

t.test('two aliases change places', async t => {
  const [a, b] = [await deployed(), await deployed()]
  const [one, two] = [await aliased(a, { config: { one: 1 } }), await aliased(b)]
  const { result, requests } = await counted(() =>
    swap([
      { hostname: one, basePath: '/', target: `${two}/` },
      { hostname: two, basePath: '/', target: `${one}/` }
    ])
  )
  t.ok(requests.length <= 3, requests.join())
  t.equal(result.statusCode, 200)
  t.match(result.json().items, [
    { hostname: one, deploymentId: b, routes: { of: b }, config: { one: 1 } },
    { hostname: two, deploymentId: a, routes: { of: a } }
  ])
  t.strictSame([await pointsAt(one), await pointsAt(two)], [b, a])
})

t.test('25 aliases are moved in one call, or none', async t => {
  const [a, b] = [await deployed(), await deployed()]
  const hosts = await Promise.all(Array.from({ length: 25 }, (_, n) => aliased(a, n % 2 ? { config: { n } } : {})))
  const moves = hosts.map(hostname => ({ hostname, target: b }))
  const all = await swap(moves)
  t.equal(all.statusCode, 200, all.body.slice(0, 200))
  for (const hostname of hosts) t.equal(await pointsAt(hostname), b)

  const own = await aliased(a, { deploymentAlias: true })
  const refused: [object[], number, string][] = [
    [[...moves.slice(1), { hostname: host(), target: a }], 404, 'alias-not-found'],
    [[...moves.slice(1), { hostname: own, target: b }], 409, 'deployment-alias'],
    [[...moves.slice(1), { hostname: hosts[0], target: 'nosuch' }], 404, 'target-not-found'],
    [[...moves.slice(1), { hostname: hosts[1], target: a }], 400, 'invalid-request'],
    [[...moves, { hostname: own, target: a }], 400, 'invalid-request'],
    [[], 400, 'invalid-request'],
    [[{ hostname: 'a b', target: a }], 400, 'invalid-request']
  ]
  for (const [body, status, code] of refused) {
    t.match(
      (
        await swap(body.map(move => ({ ...move, ...('target' in move && move.target === b ? { target: a } : {}) })))
      ).json(),
      { status, code }
    )
  }
  t.equal((await swap({ hostname: own, target: a })).statusCode, 400, 'a list is needed')
  for (const hostname of hosts) t.equal(await pointsAt(hostname), b, 'nothing was moved')
})

t.test('what DynamoDB cannot write together is refused, and nothing is moved', async t => {
  const [small, large] = [await deployed(), await deployed()]
  await api.put(`/v1/deployments/${large}/status`, { status: 'FINISHED', prerenders: { text: 'x'.repeat(390_000) } })
  const hosts = await Promise.all(Array.from({ length: 11 }, () => aliased(small)))
  const response = await swap(hosts.map(hostname => ({ hostname, target: large })))
  t.match(response.json(), { status: 413, code: 'transaction-too-large' })
  t.equal(await pointsAt(String(hosts[0])), small)
  const config = { text: 'x'.repeat(20_000) }
  t.equal((await api.post('/v1/aliases', { hostname: host(), target: large, config })).statusCode, 201)
})

t.test('an alias’s history, newest first, also after its deletion', async t => {
  const [a, b] = [await deployed(), await deployed()]
  const hostname = await aliased(a)
  await api.post('/v1/aliases', { hostname, target: b, override: true })
  await swap([{ hostname, target: a }])
  await revert(hostname)
  await api.delete(`/v1/aliases/${hostname}`)
  await api.post('/v1/aliases', { hostname, target: a })
  const expected = [
    ['created', a, null],
    ['deleted', null, b],
    ['reverted', b, a],
    ['swapped', a, b],
    ['moved', b, a],
    ['created', a, null]
  ]
  for (const limit of [1, 2, 100]) {
    const changes = await history(hostname, `?limit=${limit}`)
    t.strictSame(
      changes.map(one => [one.action, one.deploymentId, one.previousDeploymentId]),
      expected
    )
  }
  const { requests } = await counted(() => api.get(`/v1/aliases/${hostname}/history?basePath=/`))
  t.strictSame(requests, ['Query'])
  await api.delete(`/v1/aliases/${hostname}`)
  t.equal((await history(hostname)).length, 7)
  t.equal((await api.get(`/v1/aliases/${hostname}/history?basePath=/x`)).statusCode, 404)
  t.equal((await api.get(`/v1/aliases/${host()}/history`)).statusCode, 404)
  const long = encodeURIComponent(`/${'ä'.repeat(1000)}`)
  t.match((await api.get(`/v1/aliases/${hostname}/history?basePath=${long}`)).json(), {
    status: 400,
    code: 'invalid-key'
  })
  t.equal((await api.get(`/v1/deployments/${encodeURIComponent('ä'.repeat(1024))}/aliases`)).statusCode, 400)
  const { cursor } = (await api.get(`/v1/aliases/${hostname}/history?limit=1`)).json()
  const other = await aliased(a)
  t.equal((await api.get(`/v1/aliases/${other}/history?limit=1&cursor=${cursor}`)).statusCode, 400)
})

t.test('the history is out of the way of the document’s access patterns', async t => {
  const a = await deployed()
  const hostname = await aliased(a)
  const rev = hostname.split('.').reverse().join('.')
  const changes = await raw.query('aliases', `HISTORY#${rev}#/`)
  t.equal(changes.length, 1)
  t.strictSame([changes[0]?.GSI1PK, changes[0]?.GSI1SK], [undefined, undefined], 'in no index')
  const index = await raw.all('aliases', 'DeploymentIdIndex')
  t.strictSame(
    index.filter(row => row.GSI1PK === `D#${a}`).map(row => row.PK),
    ['ROUTES']
  )
})

t.test('revert goes to where the last change came from, or to a change', async t => {
  const [a, b, c] = [await deployed(), await deployed(), await deployed()]
  const hostname = await aliased(a, { config: { kept: true } })
  t.match((await revert(hostname)).json(), { status: 409, code: 'nothing-to-revert' })
  for (const target of [b, c]) await api.post('/v1/aliases', { hostname, target, override: true })
  const back = await counted(() => revert(hostname))
  t.equal(back.requests.length, 3)
  t.match(back.result.json(), { deploymentId: b, routes: { of: b }, config: { kept: true } })
  t.match((await revert(hostname, {})).json(), { deploymentId: c }, 'a second one undoes the first')
  const first = (await history(hostname)).at(-1)
  t.match((await revert(hostname, { to: first?.changeId, from: c })).json(), { deploymentId: a })
  t.match((await revert(hostname, { from: c })).json(), { status: 409, code: 'concurrent-changes' })
  t.match((await revert(hostname, { to: 'nosuch' })).json(), { status: 404, code: 'change-not-found' })
  t.equal(await pointsAt(hostname), a)
  for (const body of [{ to: '' }, { to: 'a#b' }, { other: 1 }]) t.equal((await revert(hostname, body)).statusCode, 400)
  t.match((await revert(host())).json(), { status: 404, code: 'alias-not-found' })
})

t.test('revert refuses what is gone, and a deployment’s own alias', async t => {
  const [a, b] = [await deployed(), await deployed()]
  const hostname = await aliased(a)
  await api.post('/v1/aliases', { hostname, target: b, override: true })
  await api.put(`/v1/deployments/${a}/status`, { status: 'DESTROY_REQUESTED' })
  t.match((await revert(hostname)).json(), { status: 409, code: 'deployment-destroying' })
  t.equal((await api.delete(`/v1/deployments/${a}`)).statusCode, 204)
  t.match((await revert(hostname)).json(), { status: 404, code: 'target-not-found' })
  const own = await aliased(b, { deploymentAlias: true })
  t.match((await revert(own)).json(), { status: 409, code: 'deployment-alias' })
})

t.test('revert is a compare-and-swap', async t => {
  const [a, b] = [await deployed(), await deployed()]
  const hostname = await aliased(a)
  await api.post('/v1/aliases', { hostname, target: b, override: true })
  const calls = await shuffled(started, () =>
    Promise.all(Array.from({ length: 12 }, () => revert(hostname, { from: b })))
  )
  t.strictSame(calls.map(call => call.statusCode).sort(), [200, ...Array(11).fill(409)])
  t.equal(await pointsAt(hostname), a)
  t.equal((await history(hostname)).length, 3)
})

t.test('an alias that another program made can be moved and reverted', async t => {
  const [a, b] = [await deployed(), await deployed()]
  const hostname = host()
  const rev = hostname.split('.').reverse().join('.')
  const CreateDate = '2024-01-01T00:00:00.000Z'
  await raw.put('aliases', {
    PK: 'ROUTES',
    SK: `${rev}#/`,
    GSI1PK: `D#${a}`,
    GSI1SK: `${CreateDate}#R#${rev}#/`,
    HostnameRev: rev,
    BasePath: '/',
    DeploymentId: a,
    CreateDate
  })
  t.strictSame(await history(hostname), [], 'nothing is known of it yet')
  t.equal((await api.post('/v1/aliases', { hostname, target: b, override: true })).statusCode, 200)
  t.match((await revert(hostname)).json(), { deploymentId: a })
})
