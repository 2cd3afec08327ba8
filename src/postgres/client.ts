import pg from 'pg'

export type Postgres = pg.Pool | pg.Client

/** What a connection must have set: times are read as text, and the text must be in UTC. */
const SESSION = "SET client_encoding TO 'UTF8'; SET timezone TO 'UTC'; SET datestyle TO 'ISO, YMD'"
const CONNECT_MS = 5000
/** As long as PostgreSQL itself waits for someone to type a password. */
const TYPING_MS = 60_000

/** Gives a password when the server asks for one. */
export type Password = () => Promise<string>

/** One connection, for a snapshot or a cursor. Where the URL has no password, one is asked for if the server wants it. */
export async function connect(url: string, password: Password): Promise<pg.Client> {
  const client = new pg.Client({ ...settings(url), connectionTimeoutMillis: TYPING_MS, keepAlive: true })
  // Given beside a URL, the function would be lost: what the URL lacks counts as given.
  const { password: own, searchParams } = new URL(url)
  if (!own && !searchParams.has('password')) Object.assign(client, { password })
  // An idle connection that breaks would otherwise end the process; the next query tells of it.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(SESSION)
    return client
  } catch (error) {
    // Else the socket keeps the process until the server gives up on us.
    await client.end().catch(() => {})
    throw error
  }
}

/** Connections for a running server, made when they are needed. */
export function openPool(url: string, password?: string): pg.Pool {
  const complete = new URL(url)
  if (!complete.password && password !== undefined) complete.password = encodeURIComponent(password)
  const pool = new pg.Pool({
    ...settings(complete.href),
    max: 10,
    query_timeout: 10_000,
    idle_in_transaction_session_timeout: 10_000,
    onConnect: client => client.query(SESSION)
  })
  pool.on('error', () => {})
  return pool
}

function settings(url: string): pg.ClientConfig {
  return { connectionString: url, application_name: 'quintet', connectionTimeoutMillis: CONNECT_MS }
}

/** Does several things in one transaction of a pool's connection. */
export async function inTransaction<T>(pool: pg.Pool, action: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await action(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.release(broken)
  }
}
