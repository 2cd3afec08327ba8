import { setTimeout as sleep } from 'node:timers/promises'
import type { Dynamo } from '../dynamo/client.js'
import { itemKind, type ProjectEntities } from '../entities/projects.js'
import { Problem } from '../problems.js'

/** What is stored of a project. */
export interface StoredProject {
  project: string
  repository?: string
  deleting?: unknown
}

/** What is stored of a token; not its hash. */
export interface StoredToken {
  project: string
  tokenId: string
  createdAt?: string
  expiresAt?: string
}

export interface TokenKey {
  project: string
  tokenId: string
}

const BATCH = 100
const MAX_TRIES = 10

/** Reads many projects and tokens of the table at once, for comparisons; always what is there at this moment. */
export function projectLookups(dynamo: Dynamo, { entities: { project, token } }: ProjectEntities) {
  const findProjects = (names: string[]) =>
    inBatches<{ project: string }, StoredProject>(
      names.map(name => ({ project: name })),
      keys => project.get(keys).go({ consistent: true })
    )

  const findTokens = (keys: TokenKey[]) =>
    inBatches<TokenKey, StoredToken>(keys, some => token.get(some).go({ consistent: true }))

  /** A project's tokens in the order of their ids, after the given one. */
  async function listTokens(name: string, after: string, limit: number): Promise<StoredToken[]> {
    const all = token.query.byProject({ project: name })
    const { data } = await (after ? all.gt({ tokenId: after }) : all).go({ limit, consistent: true })
    return data
  }

  /** The keys of all items, a page of the table at a time. */
  async function* scanKeys() {
    const { TableName } = project.get({ project: '' }).params<{ TableName: string }>()
    let ExclusiveStartKey: unknown
    do {
      const page = await dynamo.request('Scan', {
        TableName,
        ConsistentRead: true,
        ProjectionExpression: 'pk, sk',
        ExclusiveStartKey
      })
      yield (page.Items as { pk: string; sk: string }[]).map(itemKind)
      ExclusiveStartKey = page.LastEvaluatedKey
    } while (ExclusiveStartKey)
  }

  return { findProjects, findTokens, listTokens, scanKeys }
}

export type ProjectLookups = ReturnType<typeof projectLookups>

interface BatchAnswer {
  data: unknown[]
  unprocessed: unknown[]
}

/** DynamoDB may leave part of a batch unread: that part is asked for again. */
async function inBatches<K, T>(keys: K[], read: (keys: K[]) => Promise<BatchAnswer>): Promise<T[]> {
  const found: T[] = []
  for (let start = 0; start < keys.length; start += BATCH) {
    let left = keys.slice(start, start + BATCH)
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > MAX_TRIES) throw new Problem('database-unavailable')
      if (attempt > 1) await sleep(Math.random() * Math.min(50 * 2 ** attempt, 5000))
      const { data, unprocessed } = await read(left)
      found.push(...(data as T[]))
      left = unprocessed as K[]
    }
  }
  return found
}
