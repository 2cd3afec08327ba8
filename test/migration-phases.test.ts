import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { status } from '../src/migrate/status.js'
import { walk } from './helpers.js'
import { collect } from './migration-helpers.js'
import { metric, phases, settled } from './migration-phases.js'
import { startPostgres } from './postgres.js'

const server = await startPostgres(t)
const repository = 'https://example.com/one'

t.test('postgres+shadow: PostgreSQL answers, and DynamoDB has the same a moment later', async t => {
  const { begin, postgres, raw, verify } = await phases(t, server)
  const started = await begin('postgres+shadow')
  const { api } = started
  const { rows } = await postgres.admin.query('SELECT count(*)::int AS n FROM projects')
  t.equal(rows[0].n, 0)

  t.equal((await api.post('/v1/projects', { name: 'proj1', repository })).statusCode, 201)
  t.match((await api.post('/v1/projects', { name: 'proj1', repository })).json(), {
    status: 409,
    code: 'project-exists'
  })
  t.strictSame((await api.get('/v1/projects/proj1')).json(), { name: 'proj1', repository })
  const { etag } = (await api.get('/v1/projects/proj1')).headers
  const change = { repository: 'git@example.com:two.git' }
  t.equal((await api.patch('/v1/projects/proj1', change, { 'if-match': '"other"' })).statusCode, 412)
  t.equal((await api.patch('/v1/projects/proj1', change, { 'if-match': String(etag) })).statusCode, 200)
  t.equal((await api.patch('/v1/projects/nosuch1', change)).statusCode, 404)

  const made = (await api.post('/v1/projects/proj1/tokens', { expiresInDays: 3 })).json()
  t.match((await api.post('/v1/projects/nosuch1/tokens', {})).json(), { code: 'project-not-found' })
  t.match((await api.post('/v1/projects/proj1/tokens/introspect', { token: made.token })).json(), {
    active: true,
    tokenId: made.tokenId
  })
  const rotated = (await api.post(`/v1/projects/proj1/tokens/${made.tokenId}/rotate`, { graceSeconds: 0 })).json()
  t.match((await api.post('/v1/projects/proj1/tokens/introspect', { token: made.token })).json(), { active: false })
  t.match((await api.post('/v1/projects/proj1/tokens/introspect', { token: rotated.token })).json(), { active: true })
  t.match((await api.get(`/v1/projects/proj1/tokens/${made.tokenId}`)).json(), { active: false })
  t.equal((await api.get('/v1/projects/proj1/tokens/nosuch')).json().code, 'token-not-found')
  t.equal((await api.put('/v1/projects/proj1/targets/prod', { type: 'x', properties: {} })).statusCode, 201)

  for (let i = 0; i < 7; i++) await api.post('/v1/projects/proj1/tokens', {})
  const listed = await walk(api, '/v1/projects/proj1/tokens?limit=2')
  t.equal(listed.length, 9)
  t.strictSame(
    listed,
    [...listed].sort((a, b) => (String(a.tokenId) < String(b.tokenId) ? -1 : 1))
  )
  t.equal((await api.delete(`/v1/projects/proj1/tokens/${listed[0]?.tokenId}`)).statusCode, 204)
  t.equal((await api.delete(`/v1/projects/proj1/tokens/${listed[0]?.tokenId}`)).statusCode, 404)
  const overview = (await api.get('/v1/projects/proj1/overview')).json()
  t.match(overview, { project: { name: 'proj1', ...change }, targets: [{ name: 'prod' }] })
  t.equal(overview.tokens.length, 8)

  await settled(started)
  t.equal((await verify()).code, 0, 'both sides are the same')
  t.equal((await raw.all('projects')).length, 10, 'project, tokens and target')
  t.equal((await api.delete('/v1/projects/proj1')).statusCode, 204)
  await settled(started)
  t.strictSame(await raw.all('projects'), [])
  t.equal((await postgres.admin.query('SELECT FROM tokens')).rowCount, 0)
  t.equal((await api.delete('/v1/projects/proj1')).statusCode, 204, 'idempotent')
  t.equal(await metric(started, 'shadow_writes_total{outcome="failed"}'), 0)
})

t.test('what was only in PostgreSQL comes over when it is needed', async t => {
  const { begin, postgres, raw } = await phases(t, server)
  await postgres.admin.query("INSERT INTO projects VALUES ('old-one', $1)", [repository])
  const created = '2022-02-02 18:01:49.345261+00'
  await postgres.admin.query("INSERT INTO tokens VALUES ('tkn-old', $1, 'old-one', $1)", [created])
  const started = await begin('postgres+shadow')
  t.match((await started.api.get('/v1/projects/old-one/tokens/tkn-old')).json(), {
    createdAt: '2022-02-02T18:01:49.345261Z'
  })
  t.equal((await started.api.put('/v1/projects/old-one/targets/prod', { type: 'x', properties: {} })).statusCode, 201)
  t.equal((await started.api.post('/v1/projects/old-one/tokens', {})).statusCode, 201)
  await settled(started)
  t.match(await raw.get('projects', 'PROJECT#old-one', 'METADATA'), { repository })
  t.equal((await started.api.put('/v1/projects/nosuch1/targets/prod', { type: 'x', properties: {} })).statusCode, 404)
})

t.test('a project without repository has targets and tokens, and is called a difference', async t => {
  const { begin, postgres, verify } = await phases(t, server)
  await postgres.admin.query("INSERT INTO projects VALUES ('old-one', NULL)")
  const started = await begin('postgres+shadow')
  const { api } = started
  t.match((await api.get('/v1/projects/old-one/overview')).json(), { project: { repository: '' }, targets: [] })
  t.equal((await api.put('/v1/projects/old-one/targets/prod', { type: 'x', properties: {} })).statusCode, 201)
  const { token } = (await api.post('/v1/projects/old-one/tokens', {})).json()
  t.match((await api.post('/v1/projects/old-one/tokens/introspect', { token })).json(), { active: true })
  await settled(started)
  t.strictSame((await verify()).lines.slice(0, -1), [
    'differs  project "old-one": repository is null in PostgreSQL, "" in DynamoDB'
  ])
  await api.patch('/v1/projects/old-one', { repository })
  await settled(started)
  t.equal((await verify()).code, 0)
})

t.test('a name is taken again whose deletion in DynamoDB broke off', async t => {
  const { begin, raw, verify } = await phases(t, server)
  const started = await begin('postgres+shadow')
  const { api } = started
  await raw.put('projects', { pk: 'PROJECT#proj1', sk: 'METADATA', repository: 'x', deleter: 'dead', deleting: 1 })
  await raw.put('projects', { pk: 'PROJECT#proj1', sk: 'TARGET#left', name: 'left', type: 'x', properties: {} })
  await api.post('/v1/projects', { name: 'proj1', repository })
  t.equal((await api.put('/v1/projects/proj1/targets/prod', { type: 'x', properties: {} })).statusCode, 201)
  t.match((await api.get('/v1/projects/proj1/targets')).json().items, { length: 1, 0: { name: 'prod' } })
  await settled(started)
  t.equal((await verify()).code, 0)
  t.equal(await metric(started, 'shadow_writes_total{outcome="failed"}'), 0)
})

t.test('DynamoDB may be away for a moment: no caller notices, and the writes arrive when it is back', async t => {
  const { begin, door, postgres } = await phases(t, server)
  const started = await begin('postgres+shadow')
  door.before = async () => {
    throw new Error('away')
  }
  for (let i = 0; i < 20; i++)
    t.equal((await started.api.post('/v1/projects', { name: `proj${i}`, repository })).statusCode, 201)
  t.equal((await postgres.admin.query('SELECT FROM projects')).rowCount, 20)
  t.equal(await metric(started, 'pending'), 20)
  delete door.before
  await settled(started)
  t.equal(await metric(started, 'shadow_writes_total{outcome="written"}'), 20, 'they were tried again')
})

t.test('postgres+compare: differences are logged without secrets, counted, and decide on the cut-over', async t => {
  const { begin, raw, migrate, door } = await phases(t, server)
  const started = await begin('postgres+compare')
  const { api, app, log } = started
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const ask = async (since?: number) => {
    const { lines, output } = collect()
    return { code: await status([url], since, output), stdout: lines.join('\n') }
  }
  const first = await migrate(['status', '--url', url])
  t.match(first, { code: 1, stdout: /nothing has been compared yet/ })

  await api.post('/v1/projects', { name: 'proj1', repository })
  const made = (await api.post('/v1/projects/proj1/tokens', {})).json()
  for (const path of ['', '/overview', '/tokens', `/tokens/${made.tokenId}`])
    t.equal((await api.get(`/v1/projects/proj1${path}`)).statusCode, 200)
  await settled(started)
  t.equal(await metric(started, 'comparisons_total{outcome="same"}'), 4)
  t.equal(await metric(started, 'comparisons_total{outcome="different"}'), 0)
  t.match(await ask(), { code: 0, stdout: /no difference and no lost write since .*\nCut-over is safe/ })

  const metadata = await raw.get('projects', 'PROJECT#proj1', 'METADATA')
  await raw.put('projects', { ...metadata, repository: 'https://me:hunter2@example.com/other' })
  await raw.put('projects', { pk: 'PROJECT#proj1', sk: 'TOKEN#zzz', created_at: 'x', expires_at: 'y' })
  t.strictSame((await api.get('/v1/projects/proj1')).json(), { name: 'proj1', repository }, 'PostgreSQL answers')
  t.equal((await api.get('/v1/projects/proj1/tokens')).json().items.length, 1)
  await settled(started)
  t.equal(await metric(started, 'comparisons_total{outcome="different"}'), 2)
  const told = log.filter(line => line.includes('DynamoDB differs'))
  t.equal(told.length, 2)
  t.match(told.join(), /"field":"repository".*"dynamo":"https:\/\/\*\*\*@example.com\/other"/)
  t.match(told.join(), /"kind":"extra".*"tokenId":"zzz"/)
  t.notMatch(log.join(), /hunter2|se cret|se%20cret/)
  t.notMatch(log.join(), new RegExp(made.token.split('.')[3]), 'no secret of a token')
  t.match(await ask(), { code: 1, stdout: /a difference was found at/ })
  const soon = Date.now() + 1
  await sleep(2)
  t.match(await ask(soon), { code: 0, stdout: /Cut-over is safe/ }, 'none since then')
  door.before = async () => {
    const __type = 'com.amazonaws.dynamodb.v20120810#AccessDeniedException'
    return { status: 400, body: JSON.stringify({ __type, message: 'not allowed' }) }
  }
  t.equal((await api.get('/v1/projects/proj1')).statusCode, 200)
  await settled(started)
  delete door.before
  t.equal(await metric(started, 'comparisons_total{outcome="failed"}'), 1)
  t.match(await ask(soon), { code: 1, stdout: /a comparison was not possible at/ })
  t.match(await ask(Date.parse('2020-01-01')), { code: 1, stdout: /knows nothing of the time before/ })

  await api.delete('/v1/projects/proj1/tokens/zzz')
  await api.patch('/v1/projects/proj1', { repository })
  await settled(started)
  await api.get('/v1/projects/proj1/overview')
  await settled(started)
  t.equal(await metric(started, 'comparisons_total{outcome="different"}'), 2, 'both were mended')

  const long = `/v1/projects/${encodeURIComponent('é'.repeat(600))}`
  t.equal((await api.get(long)).statusCode, 404)
  t.equal((await api.delete(long)).statusCode, 204)
  await settled(started)
  t.equal(await metric(started, 'comparisons_total{outcome="failed"}'), 1, 'what fits no key is on neither side')
  t.equal(await metric(started, 'shadow_writes_total{outcome="failed"}'), 0)
})

t.test('PostgreSQL away, closed or only to be read is 503, and not ready', async t => {
  const { begin, postgres } = await phases(t, server)
  const { api, log } = await begin('postgres+shadow')
  t.equal((await api.get('/readyz')).statusCode, 200)
  const change = (setting: string) =>
    postgres.admin.query(`ALTER ROLE postgres IN DATABASE ${postgres.name} ${setting}`)
  const reconnect = () =>
    postgres.admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'quintet'")
  await change('SET default_transaction_read_only TO on')
  await reconnect()
  const refused = { status: 503, code: 'database-unavailable' }
  /** Connections that have ended are noticed one by one. */
  const until = async (reason: RegExp) => {
    while (!reason.test(log.join())) {
      t.match((await api.post('/v1/projects', { name: 'proj1', repository })).json(), refused)
      await sleep(5)
    }
  }
  await until(/read-only transaction/)
  await postgres.admin.query(
    `SET default_transaction_read_only TO off; ALTER ROLE postgres IN DATABASE ${postgres.name} RESET ALL`
  )
  await postgres.admin.query('ALTER ROLE postgres PASSWORD $$other$$')
  await reconnect()
  await until(/password authentication failed/)
  await server.stop()
  t.match((await api.get('/v1/projects/proj1')).json(), { status: 503, code: 'database-unavailable' })
  await sleep(1000)
  t.match((await api.get('/readyz')).json(), { differences: [/PostgreSQL cannot be asked/] })
})
