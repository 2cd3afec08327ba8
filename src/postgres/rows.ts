import type { Postgres } from './client.js'
import { isoOf } from './time.js'

/** A token as PostgreSQL has it; its times in ISO 8601, or as they are where they are no such time. */
export interface TokenRow {
  tokenId: string
  createdAt: string | null
  expiresAt: string | null
}

export interface ProjectRow {
  project: string
  repository: string | null
}

/** Part of a project: the first one has its repository, further ones only more tokens. */
export interface Piece {
  project: string
  /** Missing in further pieces, and of tokens whose project is not there. */
  repository?: string | null
  tokens: TokenRow[]
}

/** So many tokens and their project are one transaction of DynamoDB. */
export const TOKENS_A_PIECE = 99

interface StoredToken {
  project: string
  token_id: string
  created_at: string | null
  expires_at: string | null
}

export const toTokenRow = (row: StoredToken): TokenRow => ({
  tokenId: row.token_id,
  createdAt: toIso(row.created_at),
  expiresAt: toIso(row.expires_at)
})

const toIso = (text: string | null) => (text === null ? null : (isoOf(text) ?? text))

const PROJECTS = `DECLARE all_projects NO SCROLL CURSOR FOR
  SELECT project::text AS project, repository::text AS repository
  FROM projects ORDER BY project::text COLLATE "C"`
const TOKENS = `DECLARE all_tokens NO SCROLL CURSOR FOR
  SELECT coalesce(project::text, '') AS project, token_id::text AS token_id,
    created_at::text AS created_at, expires_at::text AS expires_at
  FROM tokens ORDER BY coalesce(project::text, '') COLLATE "C", token_id::text COLLATE "C"`

/**
 * Everything in one consistent view, in the order of the keys, a piece at a time: projects and tokens are two cursors
 * that are walked side by side, so that memory does not grow with either. Needs SELECT and nothing else.
 */
export async function* snapshot(client: Postgres): AsyncGenerator<Piece> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    await client.query('SET LOCAL statement_timeout TO 0; SET LOCAL idle_in_transaction_session_timeout TO 0')
    await client.query(PROJECTS)
    await client.query(TOKENS)
    yield* merge(
      rowsOf<ProjectRow>(client, 'FETCH FORWARD 1000 FROM all_projects'),
      rowsOf<StoredToken>(client, 'FETCH FORWARD 1000 FROM all_tokens')
    )
  } finally {
    await client.query('ROLLBACK').catch(() => {})
  }
}

async function* rowsOf<T extends object>(client: Postgres, fetch: string): AsyncGenerator<T> {
  for (;;) {
    const { rows } = await client.query<T>(fetch)
    if (rows.length === 0) return
    yield* rows
  }
}

async function* merge(projects: AsyncGenerator<ProjectRow>, tokens: AsyncGenerator<StoredToken>) {
  let token = await tokens.next()
  /** The tokens of a project in pieces; there is at least one, which may be empty. */
  async function* piecesOf(head: Piece): AsyncGenerator<Piece> {
    let piece = head
    while (!token.done && token.value.project === head.project) {
      if (piece.tokens.length === TOKENS_A_PIECE) {
        yield piece
        piece = { project: head.project, tokens: [] }
      }
      piece.tokens.push(toTokenRow(token.value))
      token = await tokens.next()
    }
    yield piece
  }
  for await (const { project, repository } of projects) {
    while (!token.done && compareBytes(token.value.project, project) < 0) {
      yield* piecesOf({ project: token.value.project, tokens: [] })
    }
    yield* piecesOf({ project, repository, tokens: [] })
  }
  while (!token.done) yield* piecesOf({ project: token.value.project, tokens: [] })
}

/** The order of PostgreSQL's collation "C" and of DynamoDB's keys. */
function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Those of the projects that are there. */
export async function findProjectRows(client: Postgres, names: string[]): Promise<ProjectRow[]> {
  const sql = `SELECT project::text AS project, repository::text AS repository
    FROM projects WHERE project::text = ANY($1::text[])`
  return (await client.query<ProjectRow>(sql, [names])).rows
}

/** Those of the tokens that are there. */
export async function findTokenRows(
  client: Postgres,
  keys: { project: string; tokenId: string }[]
): Promise<(TokenRow & { project: string })[]> {
  const sql = `SELECT coalesce(project::text, '') AS project, token_id::text AS token_id,
      created_at::text AS created_at, expires_at::text AS expires_at
    FROM tokens WHERE token_id::text = ANY($2::text[]) AND coalesce(project::text, '') = ANY($1::text[])`
  const projects = [...new Set(keys.map(key => key.project))]
  const { rows } = await client.query<StoredToken>(sql, [projects, keys.map(key => key.tokenId)])
  return rows.map(row => ({ project: row.project, ...toTokenRow(row) }))
}
