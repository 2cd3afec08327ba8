import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test as TapTest } from 'tap'
import { listen } from '../src/dynamo/engine/http.js'
import type { Output } from '../src/migrate/output.js'
import { start, type Test } from './helpers.js'
import { dispatchOf } from './outside.js'
import { createDatabase, type PostgresServer, type RunningPostgres } from './postgres.js'

const CLI = fileURLToPath(new URL('../src/cli.js', import.meta.url))

/** What happens at DynamoDB's door, before a request is handled and before it is answered. */
interface Door {
  before?(target: string): Promise<void>
  after?(target: string): Promise<void>
}

interface Ran {
  code: number | null
  stdout: string
  stderr: string
  lines: string[]
}

/** PostgreSQL, a DynamoDB with a door before it, and the command line between them. */
export async function startMigration(t: Test, server: PostgresServer) {
  const postgres = await createDatabase(t, server)
  const started = await start(t, { domains: ['projects'] })
  const door: Door = {}
  const dispatch = dispatchOf(started.database)
  const endpoint = await listen(async (target, body) => {
    await door.before?.(target ?? '')
    const answer = await dispatch(target, body)
    await door.after?.(target ?? '')
    return answer
  }, 0)
  t.teardown(() => endpoint.close())
  const place = { DYNAMODB: endpoint.url, PROJECTS_TABLE: started.config.tables.projects }
  const env = { ...place, PATH: process.env.PATH ?? '' }

  const launch = (words: string[], more: Record<string, string> = {}, flags: string[] = []) =>
    spawn(process.execPath, [...flags, CLI, 'migrate', ...words], { env: { ...env, ...more } })
  const migrate = (words: string[], more?: Record<string, string>, flags?: string[]) =>
    ended(launch(words, more, flags))

  return {
    ...started,
    postgres,
    door,
    place,
    file: join(postgres.folder, `${postgres.name}.jsonl`),
    launch,
    migrate,
    /** Dump, load and verify as a user with SELECT alone. */
    dump: (file: string) => migrate(['dump', '--from', postgres.readerUrl, '--to', file]),
    load: (file: string, ...flags: string[]) => migrate(['load', file, ...flags]),
    verify: () => migrate(['verify', '--from', postgres.readerUrl])
  }
}

export type Migration = Awaited<ReturnType<typeof startMigration>>

export async function ended(child: ChildProcess): Promise<Ran> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', chunk => {
    stdout += chunk
  })
  child.stderr?.on('data', chunk => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr, lines: stdout.split('\n').filter(Boolean) }
}

/** Where a command writes, for commands that are called in process. */
export function collect() {
  const lines: string[] = []
  const output: Output = { line: text => void lines.push(text), progress: () => ({ add() {}, end() {} }) }
  return { lines, output }
}

/** Projects p000001… with so many tokens each, at times that need all six digits. */
export async function fill({ admin }: RunningPostgres, projects: number, tokensEach: number): Promise<void> {
  await admin.query(
    `INSERT INTO projects SELECT 'p' || lpad(n::text, 6, '0'), 'https://example.com/org/repository-' || n
     FROM generate_series(1, $1::int) n`,
    [projects]
  )
  await admin.query(
    `INSERT INTO tokens SELECT 'tkn-' || lpad(n::text, 6, '0') || '-' || m,
       timestamptz '2022-02-02 18:01:49.345261+00' + n * interval '1 minute 1 microsecond',
       'p' || lpad(n::text, 6, '0'), timestamptz '2032-02-02 18:01:49+00' + m * interval '1 day'
     FROM generate_series(1, $1::int) n, generate_series(1, $2::int) m`,
    [projects, tokensEach]
  )
}

/** The way there and back: dump, load killed again and again, verify without and with planted differences. */
export async function campaign(
  t: TapTest,
  server: PostgresServer,
  size: { projects: number; tokensEach: number; kills: number }
): Promise<void> {
  const migration = await startMigration(t, server)
  const { postgres, file } = migration
  const tokens = size.projects * size.tokensEach
  await fill(postgres, size.projects, size.tokensEach)
  const dumped = await migration.dump(file)
  t.equal(dumped.stdout.trim(), `${size.projects} projects and ${tokens} tokens written to ${file}`, dumped.stderr)

  const batches = Math.ceil(size.projects / Math.floor(100 / (1 + size.tokensEach)))
  for (let kill = 0; kill < size.kills; kill++) {
    const killed = await killedAt(migration, Math.ceil((batches * (kill + 1)) / (4 * size.kills)), kill % 2 === 0)
    t.equal(killed.code, null, 'it was killed, not done')
  }
  const stored = (await migration.raw.all('projects')).length
  t.ok(stored > 0 && stored < size.projects + tokens, `${stored} of ${size.projects + tokens} items after the kills`)
  const loaded = await migration.load(file)
  t.equal(loaded.code, 0, loaded.stdout + loaded.stderr)
  t.match(
    loaded.lines.at(-1),
    `written ${size.projects + tokens - stored}, skipped ${stored}, overwritten 0, differing 0, failed 0`
  )
  const clean = await migration.verify()
  t.match(clean.stdout, `${size.projects} projects and ${tokens} tokens of PostgreSQL compared: 0 differences`)
  t.equal(clean.code, 0, clean.stderr)

  const planted = await plant(migration, size.projects)
  const found = await migration.verify()
  t.equal(found.code, 1)
  for (const line of planted) t.ok(found.lines.includes(line), line)
  t.equal(found.lines.length, planted.length + 1, found.stdout)
}

/** A load that is killed at its nth write, which then has reached DynamoDB or not. */
async function killedAt({ door, launch, file }: Migration, nth: number, isDone: boolean): Promise<Ran> {
  const child = launch(['load', file])
  let writes = 0
  const strike = async (target: string) => {
    if (target.endsWith('TransactWriteItems')) writes += 1
    if (writes < nth) return
    child.kill('SIGKILL')
    throw new Error('The caller is gone')
  }
  door[isDone ? 'after' : 'before'] = strike
  try {
    return await ended(child)
  } finally {
    delete door.before
    delete door.after
  }
}

/** Twenty differences of all kinds, as verify must list them. */
async function plant({ raw, postgres }: Migration, projects: number): Promise<string[]> {
  const name = (n: number) => `p${String(n).padStart(6, '0')}`
  const id = (n: number, m: number) => `tkn-${String(n).padStart(6, '0')}-${m}`
  const lines: string[] = []
  const n = (i: number) => 1 + Math.floor(((projects - 1) * i) / 20)
  for (let i = 0; i < 3; i++) {
    await postgres.admin.query('INSERT INTO projects VALUES ($1, $2)', [`lonely${i}`, 'https://example.com/x'])
    lines.push(`missing  project "lonely${i}"`)
    await postgres.admin.query("INSERT INTO tokens VALUES ($1, now(), $2, now() + interval '1 day')", [
      `late-${i}`,
      name(n(i))
    ])
    lines.push(`missing  token "late-${i}" of project "${name(n(i))}"`)
    await raw.put('projects', { pk: `PROJECT#extra${i}`, sk: 'METADATA', repository: 'https://example.com/e' })
    lines.push(`extra    project "extra${i}"`)
    await postgres.admin.query('DELETE FROM tokens WHERE token_id = $1', [id(n(i + 3), 1)])
    lines.push(`extra    token "${id(n(i + 3), 1)}" of project "${name(n(i + 3))}"`)
    await postgres.admin.query('UPDATE projects SET repository = $2 WHERE project = $1', [
      name(n(i + 6)),
      'https://example.com/new'
    ])
    lines.push(
      `differs  project "${name(n(i + 6))}": repository is "https://example.com/new" in PostgreSQL, "https://example.com/org/repository-${n(i + 6)}" in DynamoDB`
    )
    await postgres.admin.query("UPDATE tokens SET expires_at = '2030-01-01 00:00:00.000001+00' WHERE token_id = $1", [
      id(n(i + 9), 1)
    ])
    lines.push(
      `differs  token "${id(n(i + 9), 1)}" of project "${name(n(i + 9))}": expires_at is "2030-01-01T00:00:00.000001Z" in PostgreSQL, "2032-02-03T18:01:49Z" in DynamoDB`
    )
  }
  // What the original migration stored: PostgreSQL's text.
  const pk = `PROJECT#${name(n(13))}`
  const token = await raw.get('projects', pk, `TOKEN#${id(n(13), 1)}`)
  await raw.put('projects', { ...token, expires_at: '2032-02-03 18:01:49+00' })
  lines.push(
    `differs  token "${id(n(13), 1)}" of project "${name(n(13))}": expires_at is "2032-02-03T18:01:49Z" in PostgreSQL, "2032-02-03 18:01:49+00" in DynamoDB`
  )
  const project = await raw.get('projects', `PROJECT#${name(n(14))}`, 'METADATA')
  await raw.put('projects', { ...project, deleting: 1 })
  lines.push(`differs  project "${name(n(14))}": deleting is "not set" in PostgreSQL, 1 in DynamoDB`)
  return lines
}

/** One project with very many tokens through every command, in a heap that could not hold them. */
export async function flatMemory(t: TapTest, server: PostgresServer, tokens: number): Promise<void> {
  const { postgres, file, migrate } = await startMigration(t, server)
  await fill(postgres, 1, tokens)
  const small = ['--max-old-space-size=64']
  const env = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' }
  const from = ['--from', postgres.readerUrl]
  const dumped = await migrate(['dump', ...from, '--to', file], env, small)
  t.equal(dumped.code, 0, dumped.stderr)
  const loaded = await migrate(['load', file], env, small)
  t.match(loaded.lines.at(-1), `written ${tokens + 1}, skipped 0`, loaded.stderr)
  const verified = await migrate(['verify', ...from], env, small)
  t.match(
    verified.lines.at(-1),
    `1 projects and ${tokens} tokens of PostgreSQL compared: 0 differences`,
    verified.stderr
  )
}
