import t from 'tap'
import { start, walk } from './helpers.js'
import { stepFunctionsStandIn } from './stand-ins/step-functions.js'

const stack = (version: string) => ({ version, inboundQueueArn: 'arn:in', inboundQueueUrl: 'https://in' })
const FLEET = 24

/** A fleet of which three in four are outdated, each with some audit beside it. */
async function begin(t: Parameters<typeof start>[0]) {
  const sfn = await stepFunctionsStandIn(t)
  const started = await start(t, { domains: ['tenants'], env: { ...sfn.env, TENANT_STACK_VERSION: '0.1.10' } })
  const { api, raw } = started
  const outdated: string[] = []
  for (let i = 0; i < FLEET; i++) {
    const tenantId = `tenant-${i}`
    const version = i % 4 === 0 ? '0.1.10' : `0.1.${i % 10}`
    if (i % 4) outdated.push(tenantId)
    await api.put(`/v1/tenants/${tenantId}`, stack(version))
    await raw.put('tenants', { pk: `TENANT_ID#${tenantId}`, sk: 'AUDIT#CREATE', Status: 'Success', Execution: 'arn:1' })
  }
  return { ...started, sfn, outdated: outdated.sort() }
}

t.test('the fleet is listed page by page, each tenant once', async t => {
  const { api, counted, outdated } = await begin(t)
  const ids = async (url: string) => (await walk(api, url)).map(({ tenantId }) => tenantId).sort()
  t.strictSame(await ids('/v1/tenants?outdated=true&limit=7'), outdated)
  t.equal((await ids('/v1/tenants?outdated=false&limit=3')).length, FLEET - outdated.length)
  t.equal((await ids('/v1/tenants')).length, FLEET)
  const { result, requests } = await counted(() => api.get('/v1/tenants?outdated=true&limit=7'))
  t.strictSame(requests, ['Scan'])
  t.match(result.headers.link, /outdated=true.*cursor=.*rel="next"/)
  t.match((await api.get(`/v1/tenants?outdated=false&cursor=${result.json().cursor}`)).json(), {
    code: 'invalid-cursor'
  })
})

t.test('the fleet is upgraded some at a time, by any number of callers, each tenant once', async t => {
  const { api, sfn, outdated } = await begin(t)
  const upgrade = async () => {
    let cursor: string | undefined
    do {
      const answer = await api.post('/v1/tenants:upgrade', { limit: 7, ...(cursor ? { cursor } : {}) })
      t.equal(answer.statusCode, 202)
      t.ok(answer.json().items.length <= 7)
      cursor = answer.json().cursor ?? undefined
    } while (cursor)
  }
  await Promise.all([upgrade(), upgrade()])
  const executions = [...sfn.executions.values()]
  t.strictSame(executions.map(({ tenantId }) => tenantId).sort(), outdated)
  t.ok(executions.every(({ machine, input }) => machine === 'update' && JSON.parse(input).version === '0.1.10'))
  t.strictSame(sfn.wrong, [])
})

t.test('starting over goes on: what runs is left to run, what has failed is left alone', async t => {
  const { api, sfn, raw, counted, outdated } = await begin(t)
  sfn.plan('refuse')
  const first = await counted(() => api.post('/v1/tenants:upgrade', { limit: 1 }))
  t.strictSame(first.requests, ['Scan', 'UpdateItem', 'UpdateItem'])
  const [{ tenantId }] = first.result.json().items
  t.match(first.result.json().items, [{ started: false, audit: { status: 'Failure', reason: /StateMachine/ } }])
  const all = (await api.post('/v1/tenants:upgrade', { limit: 100 })).json().items
  t.equal(all.length, outdated.length)
  t.equal(all.filter((item: { started: boolean }) => item.started).length, outdated.length - 1)
  const again = (await api.post('/v1/tenants:upgrade', { limit: 100 })).json().items
  t.notOk(
    again.some((item: { started: boolean }) => item.started),
    'nothing twice'
  )
  t.equal(sfn.of(tenantId).length, 0)
  await api.post(`/v1/tenants/${tenantId}/operations`, { operation: 'UPDATE' })
  t.match(sfn.of(tenantId), [{ retryCount: 1 }])
  const other = again.find((item: { tenantId: string }) => item.tenantId !== tenantId)
  const { execution } = other.audit
  sfn.end(execution)
  await raw.put('tenants', {
    ...(await raw.get('tenants', `TENANT_ID#${other.tenantId}`, 'AUDIT#UPDATE#0.1.10')),
    UpdatedAt: '2020-01-01T00:00:00.000Z'
  })
  const taken = (await api.post('/v1/tenants:upgrade', { limit: 100 })).json().items
  t.match(
    taken.filter((item: { started: boolean }) => item.started),
    [{ tenantId: other.tenantId, audit: { retryCount: 1 } }],
    'an abandoned one is taken over'
  )
})
