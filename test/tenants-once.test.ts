import t from 'tap'
import { type StepFunctionsOptions, stepFunctions } from '../src/services/step-functions.js'
import { start } from './helpers.js'
import { stepFunctionsStandIn } from './stand-ins/step-functions.js'
import { queueRounds, takeoverRounds } from './tenants-rounds.js'

const HOUR = 3_600_000
const CREATE = { operation: 'CREATE' }

/** An app over the stand-in, with a clock that stands still unless moved. */
async function begin(t: Parameters<typeof start>[0], env: Record<string, string> = {}) {
  const sfn = await stepFunctionsStandIn(t)
  const clock = { now: Date.parse('2026-01-31T12:00:00.000Z') }
  const started = await start(t, { domains: ['tenants'], env: { ...sfn.env, ...env }, now: () => clock.now })
  return { ...started, sfn, clock }
}

t.test('8 rounds of 50 callers start one execution each', t => queueRounds(t, 8, 50))
t.test('8 abandoned records are taken over by one of two takers', t => takeoverRounds(t, 8))

t.test('what Step Functions is asked for', async t => {
  const { api, sfn, counted } = await begin(t, { TENANT_STACK_VERSION: '1.20.3' })
  const { result, requests } = await counted(() => api.get('/v1/tenants/t1/queue'))
  t.equal(result.statusCode, 202)
  t.equal(result.headers['retry-after'], '10')
  t.strictSame(requests, ['Query', 'UpdateItem'], 'within its budget of 3')
  const [request] = sfn.requests
  t.equal(request?.stateMachineArn, sfn.env.PROVISION_STATE_MACHINE_ARN)
  t.strictSame(JSON.parse(request?.input ?? ''), { tenantId: 't1', version: '1.20.3', retryCount: 0 })
  t.match(request?.name, /^create-1-20-3-t1-[0-9a-f]{16}$/)
  t.ok(sfn.executions.has(result.json().execution), 'the ARN that we wrote is the one that it has')
  for (const [operation, machine] of [
    ['UPDATE', 'update'],
    ['DELETE', 'delete']
  ] as const) {
    t.equal((await api.post('/v1/tenants/t1/operations', { operation })).statusCode, 202)
    t.equal(sfn.of('t1').at(-1)?.machine, machine)
  }
  t.equal((await api.get(`/v1/tenants/${encodeURIComponent('ü /"'.repeat(20))}/queue`)).statusCode, 202)
  t.strictSame(sfn.wrong, [])
})

t.test('a start that is refused is a Failure in the same request, and can be tried again', async t => {
  const { api, sfn, counted } = await begin(t)
  sfn.plan('refuse')
  const { result, requests } = await counted(() => api.get('/v1/tenants/t1/queue'))
  t.match(result.json(), {
    status: 502,
    code: 'provisioning-failed',
    execution: /^arn:aws:states:.*:execution:provision:create-/,
    reason: 'StateMachineDoesNotExist: State machine does not exist'
  })
  t.strictSame(requests, ['Query', 'UpdateItem', 'UpdateItem'])
  t.match((await api.get('/v1/tenants/t1/queue')).json(), { status: 502, execution: result.json().execution })
  t.equal(sfn.executions.size, 0)
  const again = await api.post('/v1/tenants/t1/operations', CREATE)
  t.match(again.json(), { status: 'Started', retryCount: 1 })
  t.match(sfn.of('t1'), [{ retryCount: 1 }], 'one execution, which knows that it is a retry')
})

t.test('throttling is waited out, and a failure in the end', async t => {
  const { api, sfn } = await begin(t)
  sfn.plan('throttle', 'throttle')
  t.equal((await api.get('/v1/tenants/t1/queue')).statusCode, 202)
  sfn.plan('throttle', 'throttle', 'throttle', 'throttle')
  t.match((await api.get('/v1/tenants/t2/queue')).json(), { status: 502, reason: /^ThrottlingException/ })
  t.match((await api.post('/v1/tenants/t2/operations', CREATE)).json(), { status: 'Started', retryCount: 1 })
  t.equal(sfn.of('t2').length, 1)
})

t.test('ExecutionAlreadyExists for our own name counts as started', async t => {
  const { api, sfn } = await begin(t)
  sfn.plan('exists')
  t.equal((await api.get('/v1/tenants/t1/queue')).statusCode, 202)
  t.equal(sfn.of('t1').length, 1)
})

t.test('no answer at all is a failure, after which the same execution is asked for', async t => {
  const { api, sfn } = await begin(t)
  sfn.plan('cut', 'cut', 'cut', 'cut')
  const failed = await api.get('/v1/tenants/t1/queue')
  t.equal(failed.statusCode, 502)
  t.equal(sfn.requests.length, 4)
  const again = await api.post('/v1/tenants/t1/operations', CREATE)
  t.match(again.json(), { status: 'Started', retryCount: 1, execution: failed.json().execution })
  t.equal(sfn.of('t1').length, 1, 'it ran all along')
})

t.test('an execution that ran although nobody answered tells its outcome', async t => {
  const { api, sfn } = await begin(t)
  sfn.plan('broken', 'broken', 'broken', 'broken')
  const { execution } = (await api.get('/v1/tenants/t1/queue')).json()
  const told = await api.put('/v1/tenants/t1/audit/CREATE', { status: 'Success', execution })
  t.match(told.json(), { status: 'Success', execution })
  t.notOk('reason' in told.json())
})

t.test('silence is not waited for long', async t => {
  const sfn = await stepFunctionsStandIn(t)
  const options: StepFunctionsOptions = {
    stateMachines: {
      CREATE: sfn.env.PROVISION_STATE_MACHINE_ARN,
      UPDATE: sfn.env.UPDATE_STATE_MACHINE_ARN,
      DELETE: sfn.env.DELETE_STATE_MACHINE_ARN
    },
    endpoint: sfn.env.AWS_ENDPOINT_URL_SFN,
    anonymous: true,
    requestTimeout: 100
  }
  const provisioner = stepFunctions(options)
  t.teardown(provisioner.close)
  const input = JSON.stringify({ tenantId: 't1', version: '0.1.0', retryCount: 0 })
  sfn.plan('silent', 'silent')
  t.equal(await provisioner.start('CREATE', 'one', input), 'started')
  t.equal(sfn.requests.length, 3)
  sfn.plan('silent', 'silent', 'silent', 'silent')
  await t.rejects(provisioner.start('CREATE', 'two', input), { name: 'StartFailure', unanswered: true })
  sfn.plan('silent', 'throttle', 'throttle', 'throttle')
  await t.rejects(provisioner.start('CREATE', 'three', input), { name: 'StartFailure', unanswered: true })
  const nowhere = stepFunctions({ ...options, endpoint: 'http://127.0.0.1:1' })
  t.teardown(nowhere.close)
  await t.rejects(nowhere.start('CREATE', 'four', input), { message: /ECONNREFUSED/, unanswered: false })
  t.equal(sfn.executions.size, 3)
})

t.test('the starter dies before the execution is started', async t => {
  const { api, sfn, clock } = await begin(t)
  sfn.plan('held')
  const dying = api.get('/v1/tenants/t1/queue')
  while (sfn.requests.length === 0) await new Promise(setImmediate)
  t.match((await api.get('/v1/tenants/t1/queue')).json(), { status: 'Started' }, 'the others wait')
  clock.now += HOUR - 1
  t.equal((await api.get('/v1/tenants/t1/queue')).statusCode, 202)
  t.equal(sfn.executions.size, 0, 'until its time is over')
  clock.now += 1
  const taken = await api.get('/v1/tenants/t1/queue')
  t.match(taken.json(), { status: 'Started', updatedAt: new Date(clock.now).toISOString(), retryCount: 0 })
  sfn.cut()
  t.equal((await dying).json().execution, taken.json().execution, 'should it be alive after all, it asks for the same')
  t.equal(sfn.of('t1').length, 1)
})

t.test('the starter dies after the execution is started', async t => {
  const { api, sfn, clock } = await begin(t)
  sfn.plan('silent')
  const dying = api.get('/v1/tenants/t1/queue')
  while (sfn.executions.size === 0) await new Promise(setImmediate)
  const [execution] = [...sfn.executions.keys()] as [string]
  clock.now += HOUR
  const taken = await api.get('/v1/tenants/t1/queue')
  t.match(taken.json(), { status: 'Started', execution, retryCount: 0 }, 'it is found running')
  t.equal(sfn.of('t1').length, 1)
  const outcome = { status: 'Success', execution }
  t.equal((await api.put('/v1/tenants/t1/audit/CREATE?version=0.1.0', outcome)).statusCode, 200)
  sfn.cut()
  await dying
  t.equal(sfn.of('t1').length, 1)
})

t.test('the workflow dies: a new execution follows, and only then', async t => {
  const { api, sfn, clock, counted } = await begin(t)
  const { execution } = (await api.get('/v1/tenants/t1/queue')).json()
  clock.now += HOUR
  t.match((await api.get('/v1/tenants/t1/queue')).json(), { execution, retryCount: 0 }, 'it runs: it is left to run')
  sfn.end(execution)
  clock.now += HOUR
  const { result, requests } = await counted(() => api.get('/v1/tenants/t1/queue'))
  t.match(result.json(), { status: 'Started', retryCount: 1 })
  t.not(result.json().execution, execution)
  t.strictSame(requests, ['Query', 'UpdateItem', 'UpdateItem'], 'within the budget')
  t.strictSame(
    sfn.of('t1').map(({ running }) => running),
    [false, true]
  )
  const stale = await api.put('/v1/tenants/t1/audit/CREATE', { status: 'Failure', execution })
  t.match(stale.json(), { status: 409, code: 'stale-execution', execution: result.json().execution })
})

t.test('an abandoned UPDATE or DELETE is taken over by the next who starts it', async t => {
  const { api, sfn, clock } = await begin(t)
  for (const operation of ['UPDATE', 'DELETE']) {
    const { execution } = (await api.post('/v1/tenants/t1/operations', { operation })).json()
    t.equal((await api.post('/v1/tenants/t1/operations', { operation })).statusCode, 409)
    sfn.end(execution)
    clock.now += HOUR
    const again = await api.post('/v1/tenants/t1/operations', { operation })
    t.match(again.json(), { operation, status: 'Started', retryCount: 1 })
    t.not(again.json().execution, execution)
  }
})
