import type pg from 'pg'
import { inTransaction } from './client.js'
import { toProblem } from './errors.js'
import { type ProjectRow, type TokenRow, toTokenRow } from './rows.js'

interface NewToken {
  tokenId: string
  createdAt: string
  expiresAt: string
}

const TOKEN = `t.token_id::text AS token_id, t.project::text AS project,
  t.created_at::text AS created_at, t.expires_at::text AS expires_at`

type StoredToken = Parameters<typeof toTokenRow>[0]

/** Cello's tables in PostgreSQL, one statement an action. Rules and answers are the service's. */
export function postgresProjects(pool: pg.Pool) {
  async function ask<T extends pg.QueryResultRow>(sql: string, values: unknown[]): Promise<T[]> {
    try {
      return (await pool.query<T>(sql, values)).rows
    } catch (error) {
      throw toProblem(error)
    }
  }

  /** False if the name is taken. */
  async function createProject({ project, repository }: ProjectRow): Promise<boolean> {
    const sql = 'INSERT INTO projects (project, repository) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING project'
    return (await ask(sql, [project, repository])).length > 0
  }

  async function findProject(name: string): Promise<ProjectRow | undefined> {
    const sql = 'SELECT project::text AS project, repository::text AS repository FROM projects WHERE project = $1'
    return (await ask<ProjectRow>(sql, [name]))[0]
  }

  /** False if there is no such project, or it is no longer as it was seen. */
  async function updateProject(name: string, repository: string, seen?: ProjectRow): Promise<boolean> {
    const sql = `UPDATE projects SET repository = $2
      WHERE project = $1 AND ($3::boolean OR repository IS NOT DISTINCT FROM $4) RETURNING project`
    return (await ask(sql, [name, repository, !seen, seen?.repository ?? null])).length > 0
  }

  /** With its tokens. False if there is no such project, or it is no longer as it was seen. */
  async function deleteProject(name: string, seen?: ProjectRow): Promise<boolean> {
    const lock = `SELECT 1 FROM projects
      WHERE project = $1 AND ($2::boolean OR repository IS NOT DISTINCT FROM $3) FOR UPDATE`
    const run = inTransaction(pool, async client => {
      const { rows } = await client.query(lock, [name, !seen, seen?.repository ?? null])
      if (rows.length === 0) return false
      await client.query('DELETE FROM tokens WHERE project = $1', [name])
      await client.query('DELETE FROM projects WHERE project = $1', [name])
      return true
    })
    return run.catch(error => Promise.reject(toProblem(error)))
  }

  /** The project that the token now belongs to, or nothing if there is none. */
  async function createToken(name: string, token: NewToken): Promise<ProjectRow | undefined> {
    const sql = `WITH owner AS (SELECT project, repository FROM projects WHERE project = $1 FOR SHARE),
      made AS (INSERT INTO tokens (token_id, created_at, project, expires_at)
        SELECT $2, $3::timestamptz, project, $4::timestamptz FROM owner)
      SELECT project::text AS project, repository::text AS repository FROM owner`
    return (await ask<ProjectRow>(sql, [name, token.tokenId, token.createdAt, token.expiresAt]))[0]
  }

  /** Tokens in the order of their ids, after the given one. */
  async function listTokens(name: string, after: string, limit: number): Promise<TokenRow[]> {
    const sql = `SELECT ${TOKEN} FROM tokens t WHERE t.project = $1 AND t.token_id::text COLLATE "C" > $2
      ORDER BY t.token_id::text COLLATE "C" LIMIT $3`
    return (await ask<StoredToken>(sql, [name, after, limit])).map(toTokenRow)
  }

  /** Nothing if there is no such project; a project without the token if it has none of that id. */
  async function findToken(name: string, tokenId: string): Promise<{ token?: TokenRow } | undefined> {
    const sql = `SELECT ${TOKEN} FROM projects p LEFT JOIN tokens t ON t.project = p.project AND t.token_id = $2
      WHERE p.project = $1`
    const [row] = await ask<StoredToken | { token_id: null }>(sql, [name, tokenId])
    return row && { token: row.token_id === null ? undefined : toTokenRow(row) }
  }

  /** False if there is no such token, or it is no longer as it was seen. */
  async function deleteToken(name: string, tokenId: string, seen?: TokenRow): Promise<boolean> {
    const sql = `DELETE FROM tokens WHERE project = $1 AND token_id = $2 AND ($3::boolean OR
      (created_at IS NOT DISTINCT FROM $4::timestamptz AND expires_at IS NOT DISTINCT FROM $5::timestamptz))
      RETURNING token_id`
    const values = [name, tokenId, !seen, seen?.createdAt ?? null, seen?.expiresAt ?? null]
    return (await ask(sql, values)).length > 0
  }

  /** Adds the new token and ends the old one at the given moment at the latest; nothing if there is no old one. */
  async function rotateToken(name: string, tokenId: string, token: NewToken, lastMoment: string) {
    const sql = `WITH owner AS (SELECT project, repository FROM projects WHERE project = $1 FOR SHARE),
      old AS (UPDATE tokens t SET expires_at = least(t.expires_at, $6::timestamptz) FROM owner
        WHERE t.project = owner.project AND t.token_id = $2 RETURNING t.*),
      made AS (INSERT INTO tokens (token_id, created_at, project, expires_at)
        SELECT $3, $4::timestamptz, project, $5::timestamptz FROM old)
      SELECT ${TOKEN}, owner.repository::text AS repository FROM old t, owner`
    const values = [name, tokenId, token.tokenId, token.createdAt, token.expiresAt, lastMoment]
    const [row] = await ask<StoredToken & { repository: string | null }>(sql, values)
    return row && { repository: row.repository, old: toTokenRow(row) }
  }

  /** What keeps this from being PostgreSQL with Cello's tables, a sentence each. */
  async function differences(): Promise<string[]> {
    const sql =
      'SELECT p.project, p.repository, t.token_id, t.created_at, t.project, t.expires_at FROM projects p, tokens t LIMIT 0'
    try {
      await pool.query(sql)
      return []
    } catch (error) {
      const { code } = error as { code?: string }
      const isSchema = code === '42P01' || code === '42703'
      return [
        isSchema
          ? 'PostgreSQL lacks the tables projects and tokens'
          : `PostgreSQL cannot be asked: ${code ?? 'no answer'}`
      ]
    }
  }

  return {
    createProject,
    findProject,
    updateProject,
    deleteProject,
    createToken,
    listTokens,
    findToken,
    deleteToken,
    rotateToken,
    differences,
    close: () => pool.end()
  }
}

export type PostgresProjects = ReturnType<typeof postgresProjects>
