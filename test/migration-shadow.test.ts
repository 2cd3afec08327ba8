import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { metric, phases, settled } from './migration-phases.js'
import { sharedPostgres } from './postgres.js'

const server = await sharedPostgres()
const repository = 'https://example.com/one'

t.test('DynamoDB that does not answer: nobody waits, and what finds no room is dropped and counted', async t => {
  const { begin, door, migrate, verify, raw } = await phases(t, server)
  const started = await begin('postgres+compare')
  const { api, app, log } = started
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  door.before = async () => {
    await opened
    return undefined
  }
  const name = (n: number) => `proj${String(n).padStart(4, '0')}`
  for (let n = 1; n <= 1005; n++) {
    const { statusCode } = await api.post('/v1/projects', { name: name(n), repository })
    if (statusCode !== 201) t.fail(`${name(n)} was answered ${statusCode}`)
  }
  for (const path of ['', '/tokens']) t.equal((await api.get(`/v1/projects/${name(7)}${path}`)).statusCode, 200)
  t.equal((await api.patch(`/v1/projects/${name(8)}`, { repository: `${repository}/new` })).statusCode, 200)
  t.equal(await metric(started, 'shadow_writes_total{outcome="written"}'), 0, 'no answer has come from DynamoDB yet')
  t.equal(await metric(started, 'shadow_writes_total{outcome="dropped"}'), 6)
  t.equal(log.filter(line => line.includes('a shadow write was dropped')).length, 6)
  t.match(log.join(), /"action":"updateProject","project":"proj0008","reason":"1000 writes are waiting already"/)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.match(await migrate(['status', '--url', url]), {
    code: 1,
    stdout:
      /shadow writes or comparisons are still to be done[\s\S]*a shadow write was lost at .* \(dropped 6, failed 0\)/
  })

  open()
  await settled(started)
  t.equal(await metric(started, 'shadow_writes_total{outcome="written"}'), 1000)
  t.equal((await raw.all('projects')).length, 1000)
  const { lines, code } = await verify()
  t.equal(code, 1)
  t.strictSame(lines.slice(0, -1), [
    `differs  project "proj0008": repository is "${repository}/new" in PostgreSQL, "${repository}" in DynamoDB`,
    ...[1001, 1002, 1003, 1004, 1005].map(n => `missing  project "${name(n)}"`)
  ])
})

t.test('a server that stops writes first what it has promised', async t => {
  const { begin, door, raw, verify } = await phases(t, server)
  const { api, app } = await begin('postgres+shadow')
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  door.before = () => opened.then(() => undefined)
  for (let n = 0; n < 40; n++) await api.post('/v1/projects', { name: `proj${n}`, repository })
  let isClosed = false
  const closing = app.close().then(() => {
    isClosed = true
  })
  await sleep(100)
  t.notOk(isClosed, 'it waits')
  t.strictSame(await raw.all('projects'), [])
  open()
  await closing
  t.equal((await raw.all('projects')).length, 40)
  t.equal((await verify()).code, 0)
})

t.test('what DynamoDB refuses is counted as failed, and the caller knows nothing of it', async t => {
  const { begin, door } = await phases(t, server)
  const started = await begin('postgres+shadow')
  door.before = async () => {
    const __type = 'com.amazonaws.dynamodb.v20120810#ResourceNotFoundException'
    return { status: 400, body: JSON.stringify({ __type, message: 'Requested resource not found' }) }
  }
  t.equal((await started.api.post('/v1/projects', { name: 'proj1', repository })).statusCode, 201)
  const made = await started.api.post('/v1/projects/proj1/tokens', {})
  t.equal(made.statusCode, 201)
  await settled(started)
  t.equal(await metric(started, 'shadow_writes_total{outcome="failed"}'), 2)
  t.ok((await metric(started, 'last_lost_write_timestamp_seconds')) > 0)
  const told = started.log.filter(line => line.includes('a shadow write was not possible'))
  t.match(told.join(), /"action":"createToken","project":"proj1","reason":"Requested resource not found"/)
  t.notMatch(started.log.join(), made.json().token.split('.')[3], 'no secret of a token')
})

t.test('what PostgreSQL has done without saying so is a lost write', async t => {
  const { begin, postgres, verify } = await phases(t, server)
  const { hostname, port } = new URL(postgres.url)
  let isCut = false
  const proxy = createServer(near => {
    const far = connect(Number(port), hostname)
    near.pipe(far)
    far.on('data', answer => (isCut && answer.includes('INSERT 0 1') ? near.destroy() : near.write(answer)))
    for (const [one, other] of [
      [near, far],
      [far, near]
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  const url = new URL(postgres.urlWithoutPassword)
  url.port = String((proxy.address() as { port: number }).port)
  const started = await begin('postgres+shadow', { url: url.href })
  isCut = true
  t.match((await started.api.post('/v1/projects', { name: 'proj1', repository })).json(), { status: 503 })
  isCut = false
  t.equal((await started.api.get('/v1/projects/proj1')).statusCode, 200, 'it was done')
  t.strictSame((await verify()).lines.slice(0, -1), ['missing  project "proj1"'])
  t.equal(await metric(started, 'shadow_writes_total{outcome="failed"}'), 1)
})

t.test('what waits arrives as PostgreSQL has it by then', async t => {
  const { begin, door, raw, verify, postgres } = await phases(t, server)
  const started = await begin('postgres+shadow')
  const { api } = started
  for (const name of ['proj1', 'proj2', 'proj3']) await api.post('/v1/projects', { name, repository })
  await settled(started)
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  door.before = () => opened.then(() => undefined)
  // The first of each project has been read already when it is held.
  for (const name of ['proj1', 'proj2', 'proj3']) await api.patch(`/v1/projects/${name}`, { repository })
  await api.patch('/v1/projects/proj1', { repository: `${repository}/early` })
  const made = (await api.post('/v1/projects/proj2/tokens', {})).json()
  await api.post(`/v1/projects/proj2/tokens/${made.tokenId}/rotate`, {})
  await api.delete('/v1/projects/proj3')
  // As other servers may have done meanwhile, and told DynamoDB.
  await postgres.admin.query("UPDATE projects SET repository = $1 WHERE project = 'proj1'", [`${repository}/late`])
  await postgres.admin.query("DELETE FROM tokens WHERE project = 'proj2'")
  await postgres.admin.query("INSERT INTO projects VALUES ('proj3', $1)", [`${repository}/again`])
  open()
  await settled(started)
  t.strictSame((await raw.all('projects')).map(({ pk, sk, repository }) => [pk, sk, repository]).sort(), [
    ['PROJECT#proj1', 'METADATA', `${repository}/late`],
    ['PROJECT#proj2', 'METADATA', repository],
    ['PROJECT#proj3', 'METADATA', `${repository}/again`]
  ])
  t.equal((await verify()).code, 0)
})

t.test('a token that arrives late does not bring back an older repository', async t => {
  const { begin, door, raw, verify } = await phases(t, server)
  const [one, other] = [await begin('postgres+shadow'), await begin('postgres+shadow')]
  await one.api.post('/v1/projects', { name: 'proj1', repository })
  await settled(one)
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  door.before = async (_target, body) => {
    if (body.includes('TOKEN#')) await opened
    return undefined
  }
  t.equal((await one.api.post('/v1/projects/proj1/tokens', {})).statusCode, 201)
  t.equal((await other.api.patch('/v1/projects/proj1', { repository: `${repository}/new` })).statusCode, 200)
  await settled(other)
  open()
  await settled(one)
  t.match(await raw.get('projects', 'PROJECT#proj1', 'METADATA'), { repository: `${repository}/new` })
  t.equal((await verify()).code, 0)
})
