import { fileURLToPath } from 'node:url'
import type { Test as TapTest } from 'tap'
import { ended, fill, type Migration, type Ran, startMigration } from './migration-helpers.js'
import type { PostgresServer } from './postgres.js'

const PROBE = fileURLToPath(new URL('./memory-probe.js', import.meta.url))

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
  const strike = async (target: string): Promise<undefined> => {
    if (target.endsWith('TransactWriteItems')) writes += 1
    if (writes < nth) return undefined
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

/** With very many tokens no more must live in memory than with a few pages of them. */
export async function flatMemory(t: TapTest, server: PostgresServer, few: number, many: number): Promise<void> {
  const small = await peaks(t, server, few)
  const large = await peaks(t, server, many)
  for (const command of ['dump', 'load', 'verify'] as const) {
    const risen = large[command] - small[command]
    // A token that is held takes 200 bytes at least; a page of DynamoDB's, which may be held, 3 MB.
    const allowed = 80 * (many - few)
    t.ok(risen < allowed, `${command} of ${many} tokens holds ${risen} bytes more than of ${few}`)
  }
}

/** One project with so many tokens through every command; gives the most bytes that lived in each. */
export async function peaks(t: TapTest, server: PostgresServer, tokens: number) {
  const { postgres, file, migrate } = await startMigration(t, server)
  await fill(postgres, 1, tokens)
  const from = ['--from', postgres.readerUrl]
  const run = async (words: string[], end: string) => {
    const { lines, stderr } = await migrate(words, {}, ['--expose-gc', '--import', PROBE])
    t.match(lines.at(-1), end, stderr)
    return Number(/^at most (\d+) bytes lived$/m.exec(stderr)?.[1])
  }
  return {
    dump: await run(['dump', ...from, '--to', file], `1 projects and ${tokens} tokens written`),
    load: await run(['load', file], `written ${tokens + 1}, skipped 0`),
    verify: await run(['verify', ...from], `1 projects and ${tokens} tokens of PostgreSQL compared: 0 differences`)
  }
}
