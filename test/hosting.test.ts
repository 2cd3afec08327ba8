import t from 'tap'
import { STATUSES, type Status } from '../src/services/deployment-status.js'
import { start, unique, walk } from './helpers.js'
import { shuffled } from './hosting-races.js'

const started = await start(t, { domains: ['hosting'] })
const { api, raw, counted } = started

/** The contract's table of legal moves, written down once more. */
const legal: Record<Status, string> = {
  INITIALIZED: 'CREATE_IN_PROGRESS CREATE_FAILED FINISHED DESTROY_REQUESTED',
  CREATE_IN_PROGRESS: 'CREATE_COMPLETE CREATE_FAILED FINISHED',
  CREATE_COMPLETE: 'FINISHED CREATE_FAILED DESTROY_REQUESTED',
  CREATE_FAILED: 'DESTROY_REQUESTED DESTROY_IN_PROGRESS',
  FINISHED: 'DESTROY_REQUESTED DESTROY_IN_PROGRESS',
  DESTROY_FAILED: 'DESTROY_REQUESTED DESTROY_IN_PROGRESS',
  DESTROY_REQUESTED: 'DESTROY_IN_PROGRESS DESTROY_FAILED',
  DESTROY_IN_PROGRESS: 'DESTROY_FAILED'
}

let moment = Date.now() + 60_000

/** A deployment as another program stored it, later than all before. */
async function stored(status: string, more: Record<string, unknown> = {}) {
  const id = unique('dep-')
  const CreateDate = new Date(moment++).toISOString()
  const keys = { PK: 'DEPLOYMENTS', SK: `D#${id}`, GSI1SK: `${CreateDate}#D#${id}` }
  await raw.put('deployments', { ...keys, DeploymentId: id, CreateDate, Status: status, ...more })
  return id
}

t.test('a deployment is created once', async t => {
  const { result, requests } = await counted(() => api.post('/v1/deployments', { deploymentId: 'first' }))
  t.strictSame(requests, ['PutItem'])
  t.equal(result.statusCode, 201)
  t.equal(result.headers.location, '/v1/deployments/first')
  t.match(result.json(), { deploymentId: 'first', status: 'INITIALIZED', deploymentTemplate: 'FUNCTION_URLS' })
  t.match(result.json().createDate, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.match((await api.post('/v1/deployments', { deploymentId: 'first' })).json(), {
    status: 409,
    code: 'deployment-exists'
  })
  const made = await api.post('/v1/deployments', {})
  t.match(made.json().deploymentId, /^[0-9a-f]{32}$/)
  t.equal((await api.post('/v1/deployments')).statusCode, 201, 'no body is an empty one')
})

t.test('one of many callers creates a deployment', async t => {
  const calls = await shuffled(started, () =>
    Promise.all(Array.from({ length: 16 }, () => api.post('/v1/deployments', { deploymentId: 'race' })))
  )
  t.strictSame(calls.map(call => call.statusCode).sort(), [201, ...Array(15).fill(409)])
})

t.test('what is not a deployment is refused, by the name of the field', async t => {
  const refused: [unknown, string][] = [
    [{ deploymentId: 'a#b' }, 'body/deploymentId'],
    [{ deploymentId: '' }, 'body/deploymentId'],
    [{ deploymentId: 'a\u0007' }, 'body/deploymentId'],
    [{ deploymentId: 7 }, 'body/deploymentId'],
    [{ deploymentTemplate: 'OTHER' }, 'body/deploymentTemplate'],
    [{ status: 'FINISHED' }, 'body/status'],
    [{ createDate: '2026-01-31T12:00:00.000Z' }, 'body/createDate'],
    [[], 'body']
  ]
  for (const [body, path] of refused) {
    const response = await api.post('/v1/deployments', body)
    t.match(response.json(), { status: 400, code: 'invalid-request', errors: [{ path }] }, JSON.stringify(body))
  }
  const long = await api.post('/v1/deployments', { deploymentId: 'x'.repeat(1000) })
  t.match(long.json(), { status: 400, code: 'invalid-key' }, 'with the date it would not fit the index')
  t.equal((await api.get('/v1/deployments/a%23b')).statusCode, 400)
})

t.test('a deployment is read in one request', async t => {
  const { result, requests } = await counted(() => api.get('/v1/deployments/first'))
  t.strictSame(requests, ['GetItem'])
  t.equal(result.statusCode, 200)
  const cached = await api.get('/v1/deployments/first', { 'if-none-match': String(result.headers.etag) })
  t.equal(cached.statusCode, 304)
  t.match((await api.get('/v1/deployments/nosuch')).json(), { status: 404, code: 'deployment-not-found' })
})

t.test('deployments are listed newest first, a request a page, with what the index carries', async t => {
  const ids: string[] = []
  for (let i = 0; i < 7; i++)
    ids.unshift(await stored('CREATE_FAILED', { DeploymentAlias: 'x.example.com', CFStack: 's' }))
  const { result, requests } = await counted(() => api.get('/v1/deployments?limit=3'))
  t.strictSame(requests, ['Query'])
  const { items, cursor } = result.json()
  t.strictSame(
    items.map((item: { deploymentId: string }) => item.deploymentId),
    ids.slice(0, 3)
  )
  t.strictSame(Object.keys(items[0]).sort(), ['createDate', 'deploymentAlias', 'deploymentId', 'status'])
  t.match(result.headers.link, /^<\/v1\/deployments\?limit=3&cursor=[^>]+>; rel="next"$/)

  const all = await walk(api, '/v1/deployments?limit=3')
  const everything = await raw.all('deployments')
  t.equal(new Set(all.map(item => item.deploymentId)).size, everything.length)
  t.equal(all.length, everything.length)
  const failed = await walk(api, '/v1/deployments?limit=2&status=CREATE_FAILED')
  t.strictSame(
    failed.map(item => item.deploymentId),
    ids
  )
  const elsewhere = await api.get(`/v1/deployments?limit=3&status=FINISHED&cursor=${cursor}`)
  t.match(elsewhere.json(), { status: 400, code: 'invalid-cursor' }, 'the cursor belongs to the list without a filter')
  for (const query of ['limit=0', 'limit=101', 'status=NONE', 'other=1', 'cursor=xyz']) {
    t.equal((await api.get(`/v1/deployments?${query}`)).statusCode, 400, query)
  }
})

t.test('every pair of statuses: the legal moves and no others, in one request', async t => {
  for (const from of STATUSES) {
    for (const to of STATUSES) {
      const id = await stored(from)
      const { result, requests } = await counted(() => api.put(`/v1/deployments/${id}/status`, { status: to }))
      t.strictSame(requests, ['UpdateItem'], `${from} to ${to}: one request`)
      const now = (await raw.get('deployments', 'DEPLOYMENTS', `D#${id}`))?.Status
      if (from === to || legal[from].split(' ').includes(to)) {
        t.match({ code: result.statusCode, now, answer: result.json().status }, { code: 200, now: to, answer: to })
      } else {
        t.match(result.json(), { status: 409, code: 'invalid-transition' }, `${from} to ${to}`)
        t.match(result.json().detail, new RegExp(`${from}.*${to}`), 'both are named')
        t.equal(now, from, 'nothing has changed')
      }
    }
  }
})

t.test('a status brings fields, and keeps those that it does not bring', async t => {
  const id = await stored('INITIALIZED', { LambdaRoutes: '{"old":1}', strange: 'kept' })
  const url = `/v1/deployments/${id}/status`
  t.match((await api.put(url, { status: 'INITIALIZED', cfStack: 's' })).json(), {
    lambdaRoutes: { old: 1 },
    cfStack: 's'
  })
  const begun = await api.put(url, { status: 'CREATE_IN_PROGRESS', routes: { a: 1 } })
  t.strictSame(begun.json().lambdaRoutes, {}, 'they are not known yet')
  t.equal((await raw.get('deployments', 'DEPLOYMENTS', `D#${id}`))?.LambdaRoutes, '{}', 'as JSON text')
  await api.put(url, { status: 'CREATE_IN_PROGRESS', lambdaRoutes: { b: 2 } })
  const again = await counted(() => api.put(url, { status: 'CREATE_IN_PROGRESS' }))
  t.match(again.result.json(), { lambdaRoutes: { b: 2 }, routes: { a: 1 } }, 'an event that comes twice resets nothing')
  t.equal(again.requests.length, 1)
  const third = await api.put(url, { status: 'CREATE_IN_PROGRESS', prerenders: { c: [] } })
  t.match(third.json(), { lambdaRoutes: { b: 2 }, prerenders: { c: [] } })
  await api.put(url, { status: 'FINISHED', deploymentAlias: 'own.example.com' })
  t.match(await raw.get('deployments', 'DEPLOYMENTS', `D#${id}`), {
    Status: 'FINISHED',
    CFStack: 's',
    Routes: '{"a":1}',
    LambdaRoutes: '{"b":2}',
    Prerenders: '{"c":[]}',
    DeploymentAlias: 'own.example.com',
    strange: 'kept'
  })
})

t.test('a status is refused where it must be', async t => {
  t.match((await api.put('/v1/deployments/nosuch/status', { status: 'FINISHED' })).json(), {
    status: 404,
    code: 'deployment-not-found'
  })
  t.equal(await raw.get('deployments', 'DEPLOYMENTS', 'D#nosuch'), undefined, 'nothing was made of it')
  for (const body of [
    {},
    { status: 'DONE' },
    { status: 'FINISHED', routes: [] },
    { status: 'FINISHED', routes: '{}' }
  ]) {
    t.equal((await api.put('/v1/deployments/first/status', body)).statusCode, 400, JSON.stringify(body))
  }
  const large = { status: 'FINISHED', routes: { a: 'x'.repeat(450_000) } }
  t.match((await api.put('/v1/deployments/first/status', large)).json(), { status: 413 })
})

t.test('If-Match on a status holds in the write', async t => {
  const id = await stored('INITIALIZED')
  const url = `/v1/deployments/${id}/status`
  const tag = String((await api.get(`/v1/deployments/${id}`)).headers.etag)
  t.equal((await api.put(url, { status: 'FINISHED' }, { 'if-match': '"other"' })).statusCode, 412)
  const both = await shuffled(started, () =>
    Promise.all(
      [1, 2, 3, 4].map(n => api.put(url, { status: 'CREATE_IN_PROGRESS', cfStack: `s${n}` }, { 'if-match': tag }))
    )
  )
  t.strictSame(both.map(call => call.statusCode).sort(), [200, 412, 412, 412])
  t.equal((await api.put(url, { status: 'FINISHED' }, { 'if-match': tag })).statusCode, 412)
  const fresh = String((await api.get(`/v1/deployments/${id}`)).headers.etag)
  t.equal((await api.put(url, { status: 'FINISHED' }, { 'if-match': fresh })).statusCode, 200)
})

t.test('of many callers who move a status apart, those win who follow each other legally', async t => {
  const id = await stored('CREATE_IN_PROGRESS')
  const calls = await shuffled(started, () =>
    Promise.all(
      ['FINISHED', 'CREATE_FAILED', 'FINISHED', 'CREATE_FAILED'].map(async status => {
        const response = await api.put(`/v1/deployments/${id}/status`, { status })
        return [status, response.statusCode] as const
      })
    )
  )
  const end = (await raw.get('deployments', 'DEPLOYMENTS', `D#${id}`))?.Status
  for (const [status, code] of calls) t.equal(code, status === end ? 200 : 409, `${status} while it is ${end}`)
})
