import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listen } from '../src/dynamo/engine/http.js'
import type { Output } from '../src/migrate/output.js'
import { start, type Test } from './helpers.js'
import { dispatchOf } from './outside.js'
import { createDatabase, type PostgresServer, type RunningPostgres } from './postgres.js'

const CLI = fileURLToPath(new URL('../src/cli.js', import.meta.url))

/** What happens at DynamoDB's door, before a request is handled, which may answer it, and before it is answered. */
interface Door {
  before?(target: string, body: string): Promise<{ status: number; body: string } | undefined>
  after?(target: string): Promise<void>
}

export interface Ran {
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
    const instead = await door.before?.(target ?? '', String(body))
    if (instead) return instead
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
