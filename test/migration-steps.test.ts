import t from 'tap'
import { phases, settled } from './migration-phases.js'
import { sharedPostgres } from './postgres.js'

const server = await sharedPostgres()
const repository = 'https://example.com/one'

/** The way of docs/migration.md, and back again after the cut-over. */
t.test('from step 2 to step 7, and the way back', async t => {
  const { begin, postgres, dump, load, verify, migrate, file, raw } = await phases(t, server)
  const { admin } = postgres
  await admin.query("INSERT INTO projects SELECT 'old' || n, $1 FROM generate_series(1, 6) n", [repository])
  await admin.query(
    "INSERT INTO tokens SELECT 'tkn-' || n, now(), 'old' || n, now() + interval '1 year' FROM generate_series(1, 6) n"
  )
  const both = await begin('postgres+shadow')
  await both.api.post('/v1/projects', { name: 'new1', repository })
  const made = (await both.api.post('/v1/projects/new1/tokens', {})).json()
  await both.api.put('/v1/projects/old1/targets/prod', { type: 'x', properties: {} })
  t.equal((await dump(file)).code, 0)
  await both.api.patch('/v1/projects/old2', { repository: `${repository}/new` })
  await both.api.delete('/v1/projects/old3/tokens/tkn-3')
  await settled(both)

  const loaded = await load(file)
  t.match(
    loaded.lines[0],
    /^differs {2}line \d+: project "old2": repository is ".*one" in the file, ".*new" in DynamoDB$/
  )
  t.equal(loaded.lines.at(-1), 'written 10, skipped 3, overwritten 0, differing 1, failed 0')
  t.strictSame((await verify()).lines.slice(0, -1), ['extra    token "tkn-3" of project "old3"'])
  t.equal((await both.api.delete('/v1/projects/old3/tokens/tkn-3')).statusCode, 404, 'PostgreSQL has it no more')
  await settled(both)
  t.equal((await verify()).code, 0, 'and now DynamoDB neither')
  await both.app.close()

  const comparing = await begin('postgres+compare')
  for (const name of ['old1', 'new1']) await comparing.api.get(`/v1/projects/${name}/overview`)
  await settled(comparing)
  const url = await comparing.app.listen({ port: 0, host: '127.0.0.1' })
  t.match(await migrate(['status', '--url', url]), { code: 0, stdout: /Cut-over is safe/ })
  await comparing.app.close()

  const after = await begin('dynamodb')
  const introspect = async (api: typeof after.api, project: string, token: string) =>
    (await api.post(`/v1/projects/${project}/tokens/introspect`, { token })).json().active
  t.equal(await introspect(after.api, 'new1', made.token), true, 'a token made on the way still opens')
  t.equal((await after.api.get('/v1/projects/old1/targets/prod')).statusCode, 200)
  await after.api.post('/v1/projects', { name: 'late1', repository })
  const late = (await after.api.post('/v1/projects/late1/tokens', {})).json()
  await after.api.delete('/v1/projects/old4')
  await after.api.patch('/v1/projects/old5', { repository: `${repository}/late` })
  await after.app.close()

  const back = await begin('postgres+compare')
  const { lines } = await verify()
  t.strictSame(lines.slice(0, -1).sort(), [
    `differs  project "old5": repository is "${repository}" in PostgreSQL, "${repository}/late" in DynamoDB`,
    'extra    project "late1"',
    `extra    token "${late.tokenId}" of project "late1"`,
    'missing  project "old4"',
    'missing  token "tkn-4" of project "old4"'
  ])
  t.equal(await introspect(back.api, 'late1', late.token), false, 'PostgreSQL does not know it')
  const item = await raw.get('projects', 'PROJECT#late1', `TOKEN#${late.tokenId}`)
  await admin.query("INSERT INTO projects VALUES ('late1', $1)", [repository])
  await admin.query("INSERT INTO tokens VALUES ($1, $2, 'late1', $3)", [
    late.tokenId,
    item?.created_at,
    item?.expires_at
  ])
  await back.api.patch('/v1/projects/old5', { repository: `${repository}/late` })
  await back.api.delete('/v1/projects/old4')
  await settled(back)
  t.equal((await verify()).code, 0, 'nothing of it is lost')
  t.equal(await introspect(back.api, 'late1', late.token), true)
})
