import { TOKENS_A_PIECE } from '../postgres/rows.js'
import { isoOf } from '../postgres/time.js'
import type { ProjectCopy, TokenCopy } from '../services/project-copies.js'
import { nameProblem, quoted } from './names.js'

/** What can be copied of a line of the file, and what cannot, in words. */
export interface LineContent {
  copies: ProjectCopy[]
  faults: string[]
}

type Json = Record<string, unknown>

/** Half of a surrogate pair; DynamoDB stores UTF-8, which has no such thing. */
const BROKEN = /\p{Surrogate}/u

/** Reads a line's project and tokens. What is wrong with one token does not keep the others out. */
export function contentOf(value: Json): LineContent {
  const { project, repository, tokens = [], ...others } = value
  const refused = lineProblem(project, repository, tokens, others)
  if (refused) return { copies: [], faults: [refused, ...tokensLost(project, tokens)] }
  const faults: string[] = []
  const good: TokenCopy[] = []
  for (const entry of tokens as unknown[]) {
    const token = tokenOf(entry)
    if (typeof token === 'string') faults.push(`a token of project ${quoted(project)}: ${token}`)
    else good.push(token)
  }
  return { copies: pieces(project as string, repository as string | undefined, good), faults }
}

function lineProblem(project: unknown, repository: unknown, tokens: unknown, others: Json): string | undefined {
  const [unknown] = Object.keys(others)
  const name = nameProblem(project)
  if (name) return `the project name ${quoted(project)} ${name}`
  if (unknown !== undefined) return `${quoted(unknown)} is not known here`
  if (repository !== undefined && typeof repository !== 'string')
    return `the project ${quoted(project)} has no repository`
  if (repository !== undefined && BROKEN.test(repository as string))
    return `the repository of project ${quoted(project)} holds half a character`
  return Array.isArray(tokens) ? undefined : `the tokens of project ${quoted(project)} are not a list`
}

function tokensLost(project: unknown, tokens: unknown): string[] {
  if (!Array.isArray(tokens)) return []
  return tokens.map(token => `the token ${quoted(token?.token_id)} cannot be: its project ${quoted(project)} cannot`)
}

function tokenOf(entry: unknown): TokenCopy | string {
  const { token_id: tokenId, created_at, expires_at, ...others } = (entry ?? {}) as Json
  const name = nameProblem(tokenId)
  if (name) return `the token id ${quoted(tokenId)} ${name}`
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return `the token ${quoted(tokenId)} has ${quoted(unknown)}, which is not known here`
  const createdAt = typeof created_at === 'string' ? isoOf(created_at) : undefined
  const expiresAt = typeof expires_at === 'string' ? isoOf(expires_at) : undefined
  if (!createdAt) return `the token ${quoted(tokenId)} has no usable created_at: ${quoted(created_at)}`
  if (!expiresAt) return `the token ${quoted(tokenId)} has no usable expires_at: ${quoted(expires_at)}`
  return { tokenId: tokenId as string, createdAt, expiresAt }
}

/** In parts that fit a transaction. An id that comes twice starts a new one, in which it meets its first. */
function pieces(project: string, repository: string | undefined, tokens: TokenCopy[]): ProjectCopy[] {
  let piece: ProjectCopy = { project, repository, tokens: [] }
  let ids = new Set<string>()
  const all = [piece]
  for (const token of tokens) {
    if (piece.tokens.length === TOKENS_A_PIECE || ids.has(token.tokenId)) {
      piece = { project, tokens: [] }
      ids = new Set()
      all.push(piece)
    }
    ids.add(token.tokenId)
    piece.tokens.push(token)
  }
  return all
}
