import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { type InvalidConfig, readConfig } from '../src/config.js'
import { passwordFrom } from '../src/migrate/prompt.js'
import { connect } from '../src/postgres/client.js'
import { snapshot } from '../src/postgres/rows.js'
import { ended, fill, startMigration } from './migration-helpers.js'
import { sharedPostgres } from './postgres.js'

const server = await sharedPostgres()

t.test('a dump is one moment of the database, for a user with SELECT alone', async t => {
  const { postgres } = await startMigration(t, server)
  await fill(postgres, 2, 150)
  await postgres.admin.query(
    "INSERT INTO tokens VALUES ('orphan', now(), 'nosuch', now()), ('nobody’s', now(), NULL, now())"
  )
  const client = await connect(postgres.readerUrl, async () => '')
  t.teardown(() => client.end())
  await t.rejects(client.query("INSERT INTO projects VALUES ('x', 'y')"), /permission denied/)
  /** What others change as soon as the projects are opened, and before the tokens are. */
  const between = async (sql: string) => {
    const answer = await client.query(sql)
    if (sql.startsWith('DECLARE all_projects')) {
      await postgres.admin.query("DELETE FROM tokens WHERE project = 'p000002'")
      await postgres.admin.query("INSERT INTO projects VALUES ('zzz', 'y')")
    }
    return answer
  }
  const sizes = []
  for await (const { project, repository, tokens } of snapshot({ query: between } as typeof client))
    sizes.push([project, repository, tokens.length])
  t.strictSame(sizes, [
    ['', undefined, 1],
    ['nosuch', undefined, 1],
    ['p000001', 'https://example.com/org/repository-1', 99],
    ['p000001', undefined, 51],
    ['p000002', 'https://example.com/org/repository-2', 99],
    ['p000002', undefined, 51]
  ])
})

t.test('the password comes from the URL, PGPASSWORD or a prompt, and is shown nowhere', async t => {
  const { migrate, postgres, file } = await startMigration(t, server)
  const to = ['--to', file]
  const from = ['--from', postgres.urlWithoutPassword]
  const secret = postgres.password
  t.match(await migrate(['dump', ...from, ...to], { PGPASSWORD: secret }), {
    code: 0,
    stdout: /^0 projects and 0 tokens/
  })
  t.match(await migrate(['dump', ...to], { PROJECTS_POSTGRES_URL: postgres.url }), { code: 0 })
  const refused = await migrate(['dump', ...from, ...to])
  t.match(refused, { code: 1, stderr: /PostgreSQL wants a password: set PGPASSWORD/ })
  const wrong = await migrate(['dump', ...from, ...to], { PGPASSWORD: 'hunter2' })
  t.match(wrong, { code: 1, stderr: /password authentication failed/ })
  t.notMatch(wrong.stderr + wrong.stdout, /hunter2/)

  const inQuery = `${postgres.urlWithoutPassword}?password=${encodeURIComponent(secret)}`
  t.match(await migrate(['dump', ...to, '--from', inQuery], { PGPASSWORD: 'another' }), { code: 0 })
  const one = 'ALTER ROLE reader CONNECTION LIMIT'
  await postgres.admin.query(`${one} 1`)
  const lonely = await migrate(['verify', '--from', postgres.readerUrl])
  t.match(lonely, { code: 1, stderr: /too many connections for role "reader"/ }, 'and it ends')
  await postgres.admin.query(`${one} -1`)

  const written: string[] = []
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => written.push(`raw ${isRaw}`)
  })
  const password = passwordFrom({}, { stdin, stderr: { write: text => written.push(text) } })
  stdin.write(`${secret}x\u007f\r`)
  const client = await connect(postgres.urlWithoutPassword, password)
  await client.end()
  t.strictSame(written, ['raw true', 'Password for PostgreSQL: ', 'raw false', '\n'], 'nothing of it was shown')
})

t.test(
  'a password in a URL leaves the process list',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  async t => {
    const { launch } = await startMigration(t, server)
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.teardown(() => silent.close())
    const { port } = silent.address() as { port: number }
    const child = launch(['dump', '--from', `postgres://me:hunter2@127.0.0.1:${port}/x`, '--to', 'nowhere'])
    const end = ended(child)
    const [socket] = await once(silent, 'connection')
    const words = await readFile(`/proc/${child.pid}/cmdline`, 'utf8')
    socket.destroy()
    t.notMatch(words, /hunter2/)
    t.match(words, /^quintet migrate/)
    t.notMatch((await end).stderr, /hunter2/)
  }
)

t.test('what makes no sense is refused, with no URL repeated', async t => {
  const { migrate, launch } = await startMigration(t, server)
  t.match(await migrate(['nosuch']), { code: 2, stderr: /Usage/ })
  t.match(await migrate(['dump']), { code: 2, stderr: /--to <file> is missing/ })
  t.match(await migrate(['load']), { code: 2, stderr: /one file is needed/ })
  for (const url of ['localhost:3000', 'nowhere', 'http://me:hunter2@127.0.0.1:3000']) {
    const refused = await migrate(['status', '--url', url])
    t.match(refused, { code: 2, stderr: /--url must be such as http:/ }, url)
    t.notMatch(refused.stderr, /hunter2/)
  }
  const reader = launch(['--help'])
  reader.stdout?.destroy()
  t.match(await ended(reader), { code: 1, stderr: '' }, 'nobody reads on')
  const stray = await migrate(['verify', 'postgres://me:hunter2@host/x'])
  t.match(stray, { code: 2, stderr: /me:\*\*\*@host/ })
  t.notMatch(stray.stderr, /hunter2/)
  const odd = await migrate(['verify', '--from', 'mysql://me:hunter2@host/x'])
  t.match(odd, { code: 2, stderr: /--from must begin with postgres:/ })
  t.notMatch(odd.stderr, /hunter2/)
  t.match(await migrate(['load', '/nosuch/file']), { code: 1, stderr: /ENOENT/ })

  const refusal = (env: Record<string, string>) => {
    try {
      return readConfig(env).projects.store
    } catch (error) {
      return (error as InvalidConfig).lines
    }
  }
  t.equal(refusal({}), 'dynamodb')
  t.strictSame(refusal({ PROJECTS_STORE: 'postgres+shadow' }), [
    'PROJECTS_POSTGRES_URL must be set for PROJECTS_STORE=postgres+shadow'
  ])
  t.strictSame(refusal({ PROJECTS_STORE: 'postgres' }), [
    'PROJECTS_STORE must be one of postgres+shadow, postgres+compare, dynamodb, not "postgres"'
  ])
  t.strictSame(refusal({ PROJECTS_POSTGRES_URL: 'postgres://me:hunter2@host' }), [
    'PROJECTS_POSTGRES_URL must name a database, as in postgres://user@host:5432/database'
  ])
  t.strictSame(refusal({ PROJECTS_POSTGRES_URL: 'postgres://me:100%hunter2@host/x' }), [
    'PROJECTS_POSTGRES_URL must have %25 where a % is meant'
  ])
})
