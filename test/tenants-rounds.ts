import type { Test as TapTest } from 'tap'
import { buildApp } from '../src/app.js'
import { createMetrics } from '../src/plugins/metrics.js'
import { callers, start } from './helpers.js'
import { type Behaviour, stepFunctionsStandIn } from './stand-ins/step-functions.js'

/** Rounds of concurrent callers, few in the ordinary tests and many in the campaign. */

const moods: Behaviour[][] = [
  ['answer'],
  ['late'],
  ['twice'],
  ['cut'],
  ['answer'],
  ['throttle'],
  ['exists'],
  ['broken']
]

/** Many ask at once for the queue of a tenant that has none: one execution each, whatever Step Functions does. */
export async function queueRounds(t: TapTest, rounds: number, callersAtOnce: number): Promise<void> {
  const sfn = await stepFunctionsStandIn(t)
  const { api, seen } = await start(t, { domains: ['tenants'], env: sfn.env })
  const bad: unknown[] = []
  for (let round = 0; round < rounds; round++) {
    const tenantId = `tenant-${round}`
    // Most rounds are undisturbed, so that the waits of the others do not fill the time.
    sfn.plan(...((round % 4 === 0 ? moods[(round / 4) % moods.length] : undefined) ?? ['answer']))
    const answers = await Promise.all(
      Array.from({ length: callersAtOnce }, () => api.get(`/v1/tenants/${tenantId}/queue`))
    )
    const told = new Set(answers.map(answer => `${answer.statusCode} ${answer.json().execution}`))
    const started = [...sfn.executions].filter(([, { tenantId: id }]) => id === tenantId).map(([arn]) => `202 ${arn}`)
    if (started.length !== 1 || told.size !== 1 || !told.has(started[0] as string)) bad.push({ round, started, told })
    if (round % 50 === 49) sfn.executions.clear()
    if (round % 100 === 99) t.comment(`${round + 1} rounds`)
    seen.length = 0
  }
  t.strictSame(bad, [], `${rounds} rounds of ${callersAtOnce} callers: one execution each, which all are told`)
  t.strictSame(sfn.wrong, [], 'each request was as the service wants it')
}

const TIMEOUT = 60
/** Two servers rarely have the same time. */
const SKEW_MS = 20_000

/** Two servers find the same abandoned record: one takes it over, and both tell the same execution. */
export async function takeoverRounds(t: TapTest, rounds: number): Promise<void> {
  const sfn = await stepFunctionsStandIn(t)
  const env = { ...sfn.env, TENANT_OPERATION_TIMEOUT: String(TIMEOUT) }
  const { api, raw, seen, config, database } = await start(t, { domains: ['tenants'], env })
  const fast = await buildApp({ config, database, metrics: createMetrics(), now: () => Date.now() + SKEW_MS })
  t.teardown(() => fast.close())
  const servers = [api, callers(fast)]
  const bad: unknown[] = []
  let contested = 0
  for (let round = 0; round < rounds; round++) {
    const tenantId = `tenant-${round}`
    const isOurs = round % 2 === 0
    const execution = `${sfn.env.PROVISION_STATE_MACHINE_ARN.replace('stateMachine', 'execution')}:before-${round}`
    await raw.put('tenants', {
      pk: `TENANT_ID#${tenantId}`,
      sk: 'AUDIT#CREATE',
      Status: 'Started',
      Execution: execution,
      UpdatedAt: new Date(Date.now() - TIMEOUT * 1000 - 1).toISOString(),
      ...(isOurs ? { RetryCount: 0, Input: JSON.stringify({ tenantId, version: '0.1.0', retryCount: 0 }) } : {})
    })
    const before = sfn.requests.length
    seen.length = 0
    const answers = await Promise.all(servers.map(server => server.get(`/v1/tenants/${tenantId}/queue`)))
    contested += seen.filter(({ error }) => error === 'ConditionalCheckFailedException').length
    const told = new Set(answers.map(answer => `${answer.statusCode} ${answer.json().execution}`))
    const started = sfn.requests.slice(before).map(({ name }) => name)
    const isResumed = started[0]?.startsWith('before-') === isOurs
    if (started.length !== 1 || told.size !== 1 || !isResumed) bad.push({ round, started, told: [...told] })
  }
  t.strictSame(bad, [], `${rounds} abandoned records, two takers each: one wins`)
  t.ok(contested > 0, `${contested} were lost in the condition of the write`)
  t.strictSame(sfn.wrong, [], 'each request was as the service wants it')
}
