import awsLambdaFastify from '@fastify/aws-lambda'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'
import { createMetrics } from '../src/plugins/metrics.js'

/**
 * Measures what lies between Lambda's event and the app, once it is warm: @fastify/aws-lambda, and the least that one
 * would write by hand. Both answer from an engine in memory; a number of calls may be given.
 */
const calls = Number(process.argv[2] ?? 3000)
const ROUNDS = 8

const config = readConfig({ EMBEDDED_DATA: 'memory', DOMAINS: 'projects', METRICS: 'off', LOG_LEVEL: 'silent' })
const metrics = createMetrics()
const database = await openDatabase(config, metrics.observe)
const app = await buildApp({ config, database, metrics, stays: false })
await app.ready()

const event = {
  version: '2.0',
  rawPath: '/v1/projects/nosuch1',
  rawQueryString: '',
  headers: { 'content-type': 'application/json', 'user-agent': 'overhead', accept: '*/*' },
  requestContext: { http: { method: 'GET', path: '/v1/projects/nosuch1', sourceIp: '192.0.2.1' } },
  isBase64Encoded: false
}
type Event = typeof event

/** Without cookies, binary answers, base64 or the caller's address, which the package has. */
async function byHand({ rawPath, requestContext, headers }: Event) {
  const {
    statusCode,
    headers: answered,
    payload
  } = await app.inject({
    method: requestContext.http.method as 'GET',
    url: rawPath,
    headers
  })
  const shown = Object.fromEntries(Object.entries(answered).map(([name, value]) => [name, String(value)]))
  return { statusCode, headers: shown, body: payload, isBase64Encoded: false }
}

const proxy = awsLambdaFastify(app, { decorateRequest: false })
const ways: Record<string, (event: Event) => Promise<unknown>> = {
  '@fastify/aws-lambda': event => proxy(event, {} as never),
  'app.inject by hand': byHand
}

const took = new Map<string, number[]>(Object.keys(ways).map(name => [name, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, way] of Object.entries(ways)) {
    const before = process.cpuUsage()
    for (let i = 0; i < calls; i++) await way(event)
    const { user, system } = process.cpuUsage(before)
    // The first round warms up.
    if (round > 0) took.get(name)?.push((user + system) / calls)
  }
}
for (const [name, numbers] of took) {
  const sorted = numbers.sort((a, b) => a - b)
  console.log(
    `${name}: ${Math.round(sorted[sorted.length >> 1] as number)} µs of processor time a call, median of ${sorted.length} rounds of ${calls}`
  )
}
await app.close()
await database.close()
