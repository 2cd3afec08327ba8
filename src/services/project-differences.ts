import type { ProjectRow, TokenRow } from '../postgres/rows.js'
import { type FieldDifference, projectDifferences, tokenDifferences } from './project-copies.js'
import type { StoredProject, StoredToken } from './project-lookups.js'

/** One thing in which DynamoDB is not what PostgreSQL is. */
export interface Difference {
  kind: 'missing' | 'extra' | 'differing'
  project: string
  /** Missing if it is the project itself. */
  tokenId?: string
  field?: string
  postgres?: unknown
  dynamo?: unknown
}

/**
 * A value for a log or a list: URLs without the passwords that they may hold. In front of a web address the name is
 * hidden too, for forges take a token in its place.
 */
export function withoutPassword(value: unknown): unknown {
  if (typeof value !== 'string') return value
  return value.replace(/(https?:\/\/)[^/?#\s]*@/gi, '$1***@').replace(/(:\/\/[^/?#\s:]*):[^/?#\s]*@/g, '$1:***@')
}

const fieldsOf = (key: { project: string; tokenId?: string }, fields: FieldDifference[]): Difference[] =>
  fields.map(({ field, wanted, stored }) => ({ kind: 'differing', ...key, field, postgres: wanted, dynamo: stored }))

/** Projects of both sides, of the same keys. */
export function compareProjects(rows: ProjectRow[], stored: StoredProject[]): Difference[] {
  const others = new Map(stored.map(item => [item.project, item]))
  const found = rows.flatMap(({ project, repository }): Difference[] => {
    const item = others.get(project)
    others.delete(project)
    if (!item) return [{ kind: 'missing', project }]
    const isLeaving = item.deleting !== undefined
    const fields: FieldDifference[] = isLeaving ? [{ field: 'deleting', wanted: 'not set', stored: item.deleting }] : []
    return fieldsOf({ project }, [...fields, ...projectDifferences({ repository: repository as string }, item)])
  })
  return [...found, ...Array.from(others.keys(), (project): Difference => ({ kind: 'extra', project }))]
}

/** Tokens of both sides, of the same keys. */
export function compareTokens(rows: (TokenRow & { project: string })[], stored: StoredToken[]): Difference[] {
  const keyOf = ({ project, tokenId }: { project: string; tokenId: string }) => `${project}#${tokenId}`
  const others = new Map(stored.map(item => [keyOf(item), item]))
  const found = rows.flatMap((row): Difference[] => {
    const key = { project: row.project, tokenId: row.tokenId }
    const item = others.get(keyOf(row))
    others.delete(keyOf(row))
    if (!item) return [{ kind: 'missing', ...key }]
    const wanted = { ...row, createdAt: row.createdAt as string, expiresAt: row.expiresAt as string }
    return fieldsOf(key, tokenDifferences(wanted, item))
  })
  const extra = Array.from(others.values(), ({ project, tokenId }): Difference => ({ kind: 'extra', project, tokenId }))
  return [...found, ...extra]
}
