import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { createMetrics } from '../src/plugins/metrics.js'
import { isOlder } from '../src/services/versions.js'
import { callers, start, type Test, walk } from './helpers.js'
import { stepFunctionsStandIn } from './stand-ins/step-functions.js'

const NOW = Date.parse('2026-01-31T12:00:00.000Z')
const iso = (ms: number) => new Date(ms).toISOString()
const stack = (version = '0.1.0') => ({ version, inboundQueueArn: 'arn:in', inboundQueueUrl: 'https://in' })
/** An app over the stand-in, under which nothing ends by itself, and at a moment that stays. */
async function begin(t: Test, env: Record<string, string> = {}, now = () => NOW) {
  const sfn = await stepFunctionsStandIn(t)
  return start(t, { domains: ['tenants'], env: { ...sfn.env, ...env }, now })
}
type Api = Awaited<ReturnType<typeof start>>['api']

/** Asks until the answer is no longer to wait. */
async function settled(api: Api, tenantId: string) {
  for (;;) {
    const answer = await api.get(`/v1/tenants/${tenantId}/queue`)
    if (answer.statusCode !== 202) return answer
    await sleep(50)
  }
}

t.test('the local provisioner shows all three answers', async t => {
  const { api, raw, counted } = await start(t, { domains: ['tenants'] })
  const first = await counted(() => api.get('/v1/tenants/acme/queue'))
  t.equal(first.result.statusCode, 202)
  t.equal(first.result.headers['retry-after'], '1')
  t.match(first.result.json(), { status: 'Started', operation: 'CREATE', execution: /^arn:/, updatedAt: /^20/ })
  t.strictSame(first.requests, ['Query', 'UpdateItem'])
  await api.get('/v1/tenants/will-fail/queue')

  t.strictSame((await settled(api, 'acme')).json(), {
    tenantId: 'acme',
    queue: {
      arn: 'arn:aws:sqs:local:000000000000:tenant-acme-inbound',
      url: 'http://localhost/000000000000/tenant-acme-inbound'
    },
    version: '0.1.0',
    outdated: false
  })
  const failed = await settled(api, 'will-fail')
  t.match(failed.json(), { status: 502, code: 'provisioning-failed', execution: /^arn:/, reason: /contain "fail"/ })
  t.match(await raw.get('tenants', 'TENANT_ID#acme', 'AUDIT#CREATE'), { Status: 'Success' })
  t.equal(await raw.get('tenants', 'TENANT_ID#will-fail', 'METADATA'), undefined)
})

t.test('the local provisioner updates and deletes', async t => {
  const { api, raw } = await start(t, { domains: ['tenants'] })
  await api.put('/v1/tenants/old', stack('0.0.9'))
  t.match((await api.get('/v1/tenants/old/queue')).json(), { outdated: true, version: '0.0.9' })
  await api.post('/v1/tenants/old/operations', { operation: 'UPDATE' })
  while ((await api.get('/v1/tenants/old')).json().version !== '0.1.0') await sleep(50)
  await api.post('/v1/tenants/old/operations', { operation: 'DELETE' })
  await api.post('/v1/tenants/never/operations', { operation: 'DELETE' })
  const ended = async (id: string) => (await raw.get('tenants', `TENANT_ID#${id}`, 'AUDIT#DELETE'))?.Status
  while ((await ended('never')) === 'Started' || (await ended('old')) === 'Started') await sleep(50)
  t.equal((await api.get('/v1/tenants/old')).statusCode, 404)
  t.equal(await ended('never'), 'Success', 'what is not there is deleted already')
  t.match((await api.get('/v1/tenants/old/queue')).json(), { status: 'Started', operation: 'CREATE', retryCount: 0 })
})

t.test('a stop ends the local executions, and the next server takes them over', async t => {
  const { api, app, raw, config, database } = await start(t, { domains: ['tenants'] })
  const { execution } = (await api.get('/v1/tenants/acme/queue')).json()
  await app.close()
  const later = () => Date.now() + 3_600_000
  const next = await buildApp({ config, database, metrics: createMetrics(), now: later })
  t.teardown(() => next.close())
  await sleep(1200)
  t.match(await raw.get('tenants', 'TENANT_ID#acme', 'AUDIT#CREATE'), { Status: 'Started', Execution: execution })
  t.match((await callers(next).get('/v1/tenants/acme/queue')).json(), { status: 'Started', execution })
  t.match((await settled(callers(next), 'acme')).json(), { tenantId: 'acme', outdated: false })
})

t.test('metadata: created, updated, deleted, each in one request', async t => {
  const { api, counted } = await begin(t)
  t.match((await api.get('/v1/tenants/t1')).json(), { status: 404, code: 'tenant-not-found' })
  const made = await counted(() => api.put('/v1/tenants/t%2F1', stack()))
  t.equal(made.result.statusCode, 201)
  t.equal(made.result.headers.location, '/v1/tenants/t%2F1')
  t.strictSame(made.requests, ['UpdateItem'])
  const again = await counted(() => api.put('/v1/tenants/t%2F1', stack('0.2.0')))
  t.equal(again.result.statusCode, 200)
  t.strictSame(again.requests, ['UpdateItem'])
  const got = await counted(() => api.get('/v1/tenants/t%2F1'))
  t.strictSame(got.result.json(), again.result.json())
  t.equal(got.result.headers.etag, again.result.headers.etag)
  t.strictSame(got.requests, ['GetItem'])
  const gone = await counted(() => api.delete('/v1/tenants/t%2F1'))
  t.equal(gone.result.statusCode, 204)
  t.strictSame(gone.requests, ['DeleteItem'])
  t.match((await api.delete('/v1/tenants/t%2F1')).json(), { status: 404, code: 'tenant-not-found' })
})

t.test('If-Match and If-None-Match are decided in the write', async t => {
  const { api } = await begin(t)
  const { etag } = (await api.put('/v1/tenants/t1', stack(), { 'if-none-match': '*' })).headers as { etag: string }
  t.equal((await api.put('/v1/tenants/t1', stack(), { 'if-none-match': '*' })).statusCode, 412)
  t.equal((await api.put('/v1/tenants/t2', stack(), { 'if-match': '*' })).statusCode, 412)
  for (const tag of ['*', '"none"']) {
    t.equal((await api.delete('/v1/tenants/t2', { 'if-match': tag })).statusCode, 404, 'as without a condition')
  }
  const both = await Promise.all(
    ['0.1.1', '0.1.2'].map(version => api.put('/v1/tenants/t1', stack(version), { 'if-match': etag }))
  )
  t.strictSame(both.map(answer => answer.statusCode).sort(), [200, 412])
  t.equal((await api.delete('/v1/tenants/t1', { 'if-match': etag })).statusCode, 412)
  const now = (await api.get('/v1/tenants/t1')).headers.etag as string
  t.equal((await api.get('/v1/tenants/t1', { 'if-none-match': now })).statusCode, 304)
  t.equal((await api.delete('/v1/tenants/t1', { 'if-match': now })).statusCode, 204)

  const { execution } = (await api.get('/v1/tenants/t3/queue')).json()
  const tell = (status: string, tag?: string) =>
    api.put('/v1/tenants/t3/audit/CREATE', { status, execution }, tag ? { 'if-match': tag } : {})
  const before = (await tell('Started')).headers.etag as string
  const outcomes = await Promise.all([tell('Success', before), tell('Failure', before)])
  t.strictSame(outcomes.map(answer => answer.statusCode).sort(), [200, 412])
  t.equal((await tell('Failure', before)).statusCode, 412)
})

t.test('a queue that is there takes one request', async t => {
  const { api, raw, counted } = await begin(t, { TENANT_STACK_VERSION: '0.1.10' })
  await api.put('/v1/tenants/t1', stack('0.1.9'))
  const { result, requests } = await counted(() => api.get('/v1/tenants/t1/queue'))
  t.strictSame(result.json(), {
    tenantId: 't1',
    queue: { arn: 'arn:in', url: 'https://in' },
    version: '0.1.9',
    outdated: true
  })
  t.strictSame(requests, ['Query'])
  await raw.put('tenants', { pk: 'TENANT_ID#t2', sk: 'METADATA', Version: '0.1.10' })
  const first = await api.get('/v1/tenants/t2/queue')
  t.equal(first.statusCode, 202, 'metadata without a queue is no queue')
  const waiting = await counted(() => api.get('/v1/tenants/t2/queue'))
  t.strictSame(waiting.result.json(), first.json(), 'who waits is told what was started')
  t.equal(waiting.result.headers['retry-after'], '10')
  t.strictSame(waiting.requests, ['Query'])
})

t.test('which CREATE counts for the current version', async t => {
  const { api, raw } = await begin(t, { TENANT_STACK_VERSION: '0.2.0' })
  const put = (id: string, sk: string, more: object) =>
    raw.put('tenants', { pk: `TENANT_ID#${id}`, sk, Execution: 'arn:theirs', UpdatedAt: iso(NOW - 1000), ...more })
  const ask = async (id: string) => {
    const { statusCode, ...answer } = await api.get(`/v1/tenants/${id}/queue`)
    return [statusCode, answer.json().execution === 'arn:theirs' ? 'theirs' : 'started']
  }
  await put('a', 'AUDIT#CREATE', { Status: 'Started' })
  t.strictSame(await ask('a'), [202, 'theirs'], 'one without a version is for any')
  await put('b', 'AUDIT#CREATE', { Status: 'Failure', Reason: 'x' })
  t.strictSame(await ask('b'), [502, 'theirs'])
  await put('c', 'AUDIT#CREATE', { Status: 'Success' })
  t.strictSame(await ask('c'), [202, 'started'], 'it succeeded, and its metadata was deleted since')
  await put('d', 'AUDIT#CREATE#0.2.0', { Status: 'Started' })
  t.strictSame(await ask('d'), [202, 'theirs'])
  await put('e', 'AUDIT#CREATE#0.2.0', { Status: 'Failure' })
  t.strictSame(await ask('e'), [502, 'theirs'])
  await put('f', 'AUDIT#CREATE#0.1.9', { Status: 'Started' })
  t.strictSame(await ask('f'), [202, 'started'], 'one of an older version does not count')
  await put('g', 'AUDIT#CREATE#0.10.0', { Status: 'Failure' })
  t.strictSame(await ask('g'), [502, 'theirs'], 'one of a newer version does: servers of two versions do not alternate')
  await put('h', 'AUDIT#CREATE', { Status: 'Failure', Input: '{"tenantId":"h","version":"0.1.0","retryCount":3}' })
  t.strictSame(await ask('h'), [202, 'started'])
  t.match(await raw.get('tenants', 'TENANT_ID#h', 'AUDIT#CREATE'), { RetryCount: 0 })
  await put('i', 'AUDIT#CREATE', { Status: 'Started', UpdatedAt: iso(NOW - 3_600_000), RetryCount: 4 })
  t.strictSame(await ask('i'), [202, 'started'], 'one whose time is over is taken over')
  t.match(await raw.get('tenants', 'TENANT_ID#i', 'AUDIT#CREATE'), { RetryCount: 5 })
  await put('j', 'AUDIT#UPDATE#0.2.0', { Status: 'Started' })
  t.strictSame(await ask('j'), [202, 'started'], 'an UPDATE is no CREATE')
  await put('k', 'AUDIT#SOMETHING', { Status: 'Started' })
  t.strictSame((await api.get('/v1/tenants/k/audit')).statusCode, 404, 'what we do not know is not ours to show')
})

t.test('an operation is started once at a time, and again when it is over', async t => {
  const { api, counted } = await begin(t)
  const url = '/v1/tenants/t1/operations'
  for (const operation of ['CREATE', 'UPDATE', 'DELETE']) {
    const { result, requests } = await counted(() => api.post(url, { operation }))
    t.equal(result.statusCode, 202)
    t.strictSame(requests, ['Query', 'UpdateItem'], 'within its budget of 3')
    const record = result.json()
    t.match(record, { operation, status: 'Started', retryCount: 0 })
    t.equal(record.version, operation === 'DELETE' ? undefined : '0.1.0')
    const refused = await api.post(url, { operation })
    t.match(refused.json(), { status: 409, code: 'operation-in-progress', audit: record, execution: record.execution })
    const query = operation === 'UPDATE' ? '?version=0.1.0' : ''
    const tell = (status: string, execution: string, reason?: string) =>
      api.put(`/v1/tenants/t1/audit/${operation}${query}`, { status, execution, reason })
    await tell('Failure', record.execution, 'no quota')
    const retried = (await api.post(url, { operation })).json()
    t.match(retried, { status: 'Started', retryCount: 1 })
    t.notOk('reason' in retried)
    await tell('Success', retried.execution)
    t.match((await api.post(url, { operation })).json(), { status: 'Started', retryCount: 0 })
  }
})

t.test('of many who start an operation at once one does, and the others are told of it', async t => {
  const { api } = await begin(t)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => api.post('/v1/tenants/t1/operations', { operation: 'UPDATE' }))
  )
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [202, ...Array(19).fill(409)])
  t.equal(new Set(answers.map(answer => answer.json().execution)).size, 1)
})

t.test('an outcome is told by the execution that the record belongs to', async t => {
  const { api, raw, counted } = await begin(t)
  const { execution } = (await api.get('/v1/tenants/t1/queue')).json()
  const tell = (path: string, body: object) => counted(() => api.put(`/v1/tenants/${path}`, body))
  const stale = await tell('t1/audit/CREATE', { status: 'Success', execution: 'arn:other' })
  t.match(stale.result.json(), { status: 409, code: 'stale-execution', execution })
  t.strictSame(stale.requests, ['UpdateItem'])
  const failed = await tell('t1/audit/CREATE?version=0.1.0', { status: 'Failure', execution, reason: 'no quota' })
  t.match(failed.result.json(), { operation: 'CREATE', status: 'Failure', execution, reason: 'no quota' })
  t.strictSame(failed.requests, ['UpdateItem'])
  const late = await tell('t1/audit/CREATE', { status: 'Started', execution })
  t.match(late.result.json(), { status: 'Failure', reason: 'no quota' }, 'a late sign of life changes nothing')
  t.match((await api.get('/v1/tenants/t1/queue')).json(), { status: 502, execution, reason: 'no quota' })
  const missing = await tell('nobody/audit/DELETE', { status: 'Success', execution })
  t.match(missing.result.json(), { status: 404, code: 'audit-not-found' })
  t.strictSame(await raw.query('tenants', 'TENANT_ID#nobody'), [], 'nothing was written')
  await raw.put('tenants', { pk: 'TENANT_ID#t2', sk: 'AUDIT#CREATE#0.1.0', Execution: 'arn:theirs', Status: 'Started' })
  const theirs = await tell('t2/audit/CREATE?version=0.1.0', { status: 'Success', execution: 'arn:theirs' })
  t.match(theirs.result.json(), { operation: 'CREATE', version: '0.1.0', status: 'Success' })
})

t.test('a sign of life puts off the time-out', async t => {
  const clock = { now: NOW }
  const { api } = await begin(t, {}, () => clock.now)
  const { execution } = (await api.get('/v1/tenants/t1/queue')).json()
  clock.now += 3_599_000
  await api.put('/v1/tenants/t1/audit/CREATE', { status: 'Started', execution })
  clock.now += 3_599_000
  t.match((await api.get('/v1/tenants/t1/queue')).json(), { execution, updatedAt: iso(NOW + 3_599_000) })
})

t.test('the audit trail is newest first, and whole although records change during the walk', async t => {
  const { api, raw, counted } = await begin(t)
  for (let i = 0; i < 30; i++) {
    await raw.put('tenants', {
      pk: 'TENANT_ID#t1',
      sk: `AUDIT#UPDATE#0.1.${i}`,
      Status: 'Success',
      Execution: `arn:${i}`,
      UpdatedAt: iso(NOW - ((i * 7) % 30) * 1000)
    })
  }
  const { result, requests } = await counted(() => api.get('/v1/tenants/t1/audit?limit=10'))
  t.strictSame(requests, ['Query'])
  const all = await walk(api, '/v1/tenants/t1/audit?limit=7')
  const times = all.map(({ updatedAt }) => updatedAt as string)
  t.strictSame(times, [...times].sort().reverse())
  t.equal(new Set(all.map(({ version }) => version)).size, 30)
  const first = result.json()
  const unseen = all.at(-1) as { version: string; execution: string }
  await api.put(`/v1/tenants/t1/audit/UPDATE?version=${unseen.version}`, {
    status: 'Failure',
    execution: unseen.execution
  })
  const rest = await walk(api, `/v1/tenants/t1/audit?limit=30&cursor=${first.cursor}`)
  const versions = [...first.items, ...rest].map(({ version }) => version)
  t.equal(versions.length, 30)
  t.equal(new Set(versions).size, 30)
  t.match((await api.get(`/v1/tenants/t2/audit?cursor=${first.cursor}`)).json(), { code: 'invalid-cursor' })
  t.match((await api.get('/v1/tenants/nobody/audit')).json(), { status: 404, code: 'tenant-not-found' })
  const overview = await counted(() => api.get('/v1/tenants/t1/overview'))
  t.equal(overview.result.json().audit.length, 30)
  t.strictSame(overview.requests, ['Query'])
  t.match((await api.get('/v1/tenants/nobody/overview')).json(), { status: 404, code: 'tenant-not-found' })
})

t.test('what cannot be taken is 400 and names its field', async t => {
  const { api, raw } = await begin(t)
  const outcome = { status: 'Success', execution: 'arn:x' }
  for (const [method, url, body, path] of [
    ['PUT', '/v1/tenants/t1', { ...stack(), version: '1.2' }, 'body/version'],
    ['PUT', '/v1/tenants/t1', { ...stack(), version: '0.01.0' }, 'body/version'],
    ['PUT', '/v1/tenants/t1', { ...stack(), createdAt: 'x' }, 'body/createdAt'],
    ['PUT', '/v1/tenants/t1', { ...stack(), inboundQueueArn: 1 }, 'body/inboundQueueArn'],
    ['PUT', '/v1/tenants/t1', { ...stack(), inboundQueueUrl: '' }, 'body/inboundQueueUrl'],
    ['PUT', '/v1/tenants/t1', undefined, 'body/version'],
    ['PUT', '/v1/tenants/a%23b', stack(), 'params/tenantId'],
    ['GET', '/v1/tenants/a%23b/queue', undefined, 'params/tenantId'],
    ['GET', '/v1/tenants/%00/queue', undefined, 'params/tenantId'],
    ['POST', '/v1/tenants/t1/operations', { operation: 'create' }, 'body/operation'],
    ['POST', '/v1/tenants/t1/operations', { operation: 'CREATE', version: '0.1.0' }, 'body/version'],
    ['PUT', '/v1/tenants/t1/audit/CREATE', { status: 'Done', execution: 'arn:x' }, 'body/status'],
    ['PUT', '/v1/tenants/t1/audit/OTHER', outcome, 'params/operation'],
    ['PUT', '/v1/tenants/t1/audit/UPDATE', outcome, 'query/version'],
    ['PUT', '/v1/tenants/t1/audit/UPDATE?version=x%23y', outcome, 'query/version'],
    ['PUT', '/v1/tenants/t1/audit/DELETE?version=0.1.0', outcome, 'query/version'],
    ['GET', '/v1/tenants?outdated=maybe', undefined, 'query/outdated'],
    ['POST', '/v1/tenants:upgrade', { limit: 0 }, 'body/limit']
  ] as const) {
    const answer = await api.call(method, url, body)
    t.equal(answer.statusCode, 400, `${method} ${url} ${JSON.stringify(body)}`)
    t.match(answer.json().errors, [{ path }])
  }
  const long = await api.get(`/v1/tenants/${'ü'.repeat(600)}/queue`)
  t.match(long.json(), { status: 400 })
  t.strictSame(await raw.all('tenants'), [], 'nothing was written')
})

t.test('versions are compared by number', async t => {
  for (const [version, than, expected] of [
    ['0.1.9', '0.1.10', true],
    ['0.1.10', '0.1.9', false],
    ['0.1.10', '0.1.10', false],
    ['0.9.9', '1.0.0', true],
    ['1.0.0', '0.9.9', false],
    ['2.0.0', '10.0.0', true],
    [undefined, '0.0.0', true],
    ['latest', '0.0.0', true]
  ] as const) {
    t.equal(isOlder(version, than), expected, `${version} < ${than}`)
  }
})

t.test('configuration: nothing is guessed away from the embedded engine', async t => {
  const arn = (name: string) => `arn:aws:states:eu-west-1:123456789012:stateMachine:${name}`
  const machines = {
    PROVISION_STATE_MACHINE_ARN: arn('provision'),
    UPDATE_STATE_MACHINE_ARN: arn('update'),
    DELETE_STATE_MACHINE_ARN: arn('delete')
  }
  const lines = (env: Record<string, string>, purpose?: 'tables') => {
    try {
      readConfig(env, purpose)
      return []
    } catch (error) {
      return (error as { lines: string[] }).lines.map(line => line.split(' ')[0])
    }
  }
  const names = Object.keys(machines)
  t.strictSame(lines({ DYNAMODB: 'aws' }), ['TENANT_STACK_VERSION', ...names])
  t.strictSame(lines({ DYNAMODB: 'http://127.0.0.1:8000' }), ['TENANT_STACK_VERSION'])
  t.strictSame(
    lines({ DYNAMODB: 'http://127.0.0.1:8000', TENANT_STACK_VERSION: '0.1.0' }),
    [],
    'the local provisioner will do'
  )
  t.strictSame(lines({ DYNAMODB: 'aws', DOMAINS: 'projects' }), [])
  t.strictSame(lines({ DYNAMODB: 'aws' }, 'tables'), [], 'creating tables needs no provisioner')
  t.strictSame(lines({ DYNAMODB: 'aws', TENANT_STACK_VERSION: '0.1.0', ...machines }), [])
  t.strictSame(lines({ PROVISION_STATE_MACHINE_ARN: arn('p') }), names.slice(1), 'all or none')
  t.strictSame(lines({ ...machines, UPDATE_STATE_MACHINE_ARN: 'update' }), ['UPDATE_STATE_MACHINE_ARN'])
  t.strictSame(lines({ TENANT_STACK_VERSION: 'v1' }), ['TENANT_STACK_VERSION'])
  t.strictSame(lines({ TENANT_OPERATION_TIMEOUT: '0' }), ['TENANT_OPERATION_TIMEOUT'])
})
