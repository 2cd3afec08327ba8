import t from 'tap'
import { tables } from '../src/dynamo/tables.js'
import { start, type Test } from './helpers.js'

const repository = 'https://github.com/example/p'

async function begin(t: Test) {
  const started = await start(t, { domains: ['projects'] })
  await started.api.post('/v1/projects', { name: 'myproj', repository })
  return started
}

t.test('health asks nothing of DynamoDB, readiness a description of each table, at most once a second', async t => {
  let now = Date.now()
  const { api, database, config } = await start(t, { now: () => now })
  const asked: string[] = []
  for (const client of new Set(config.domains.map(domain => database.dynamo(domain).client))) {
    client.middlewareStack.add(
      (next, { commandName }) =>
        args => {
          asked.push(String(commandName))
          return next(args)
        },
      { step: 'initialize', name: 'asked' }
    )
  }
  const asks = async (url: string) => {
    asked.length = 0
    t.equal((await api.get(url)).statusCode, 200)
    return [...asked]
  }
  t.strictSame(await asks('/healthz'), [])
  const each = Object.keys(tables).map(() => 'DescribeTableCommand')
  t.strictSame(await asks('/readyz'), each, 'nothing that grows with the data, such as ListTables in the engine')
  t.strictSame(await asks('/readyz'), [])
  now += 1000
  t.strictSame(await asks('/readyz'), each)
})

t.test('a table that vanishes is 503 for callers and named by /readyz', async t => {
  let now = Date.now()
  const { api, database, config } = await start(t, { domains: ['projects', 'layers'], now: () => now })
  t.strictSame((await api.get('/readyz')).json(), { status: 'ready', differences: [] })
  const { DeleteTableCommand } = await import('@aws-sdk/client-dynamodb')
  await database.dynamo('projects').client.send(new DeleteTableCommand({ TableName: config.tables.projects }))
  now += 2000
  const res = await api.get('/readyz')
  t.equal(res.statusCode, 503)
  t.strictSame(res.json(), { status: 'unready', differences: [`table ${config.tables.projects} does not exist`] })
  const call = await api.get('/v1/projects/myproj')
  t.match(call.json(), { status: 503, code: 'database-unavailable' })
  t.notMatch(call.body, 'cello')
})

t.test('metrics tell of requests and of DynamoDB', async t => {
  const { api, config } = await begin(t)
  const table = config.tables.projects
  await api.get('/v1/projects/myproj')
  await api.get('/v1/projects/nosuch1')
  const { body } = await api.get('/metrics')
  t.match(body, 'quintet_http_request_duration_seconds_count{method="GET",route="/v1/projects/:name",status="404"} 1')
  t.match(body, `quintet_dynamodb_requests_total{operation="GetItem",table="${table}",outcome="ok"} 2`)
  t.match(body, `quintet_dynamodb_consumed_capacity_units_total{operation="PutItem",table="${table}"} 1`)
  t.match(body, /quintet_event_loop_lag_seconds/)
  const off = await start(t, { domains: ['projects'], env: { METRICS: 'off' } })
  t.equal((await off.api.get('/metrics')).statusCode, 404)
})

t.test('whatever callers send, metrics stay few', async t => {
  const { api } = await begin(t)
  const series = async () => (await api.get('/metrics')).body.split('\n').filter(line => !line.startsWith('#')).length
  const paths = (i: number) => [
    `/nosuch${i}`,
    `/v1/nosuch${i}`,
    `/v1/projects/p${i}`,
    `/v1/projects/%ff${i}`,
    `/docs/x${i}`
  ]
  const ask = async (i: number) => {
    for (const path of paths(i)) {
      for (const method of ['GET', 'POST', 'DELETE', 'TRACE', 'PROPFIND']) await api.call(method as 'GET', path)
    }
  }
  await ask(0)
  await series()
  const before = await series()
  for (let i = 1; i < 20; i++) await ask(i)
  t.equal(await series(), before)
})
