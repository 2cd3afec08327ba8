import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresProjects } from '../postgres/projects.js'
import type { ProjectRow } from '../postgres/rows.js'
import { Problem } from '../problems.js'
import type { Overwrite, projectCopies, TokenCopy } from './project-copies.js'
import { compareProjects, compareTokens, type Difference, withoutPassword } from './project-differences.js'
import type { ProjectLookups } from './project-lookups.js'
import { shadowQueue } from './shadow-queue.js'

/** Told of every write to DynamoDB that no caller waited for, and of every comparison. */
export interface Watch {
  /** So many more, or fewer, are waiting to be done. */
  pending(change: number): void
  write(outcome: 'written' | 'failed' | 'dropped', details?: object): void
  compare(outcome: 'same' | 'different' | 'failed' | 'dropped', details?: object): void
}

export interface ShadowOptions {
  postgres: PostgresProjects
  lookups: ProjectLookups
  copies: ReturnType<typeof projectCopies>
  /** Deletes what DynamoDB has of a project, or finishes that. */
  deleteProject(name: string): Promise<void>
  watch: Watch
  /** How many writes are held at most. */
  limit?: number
  /** How long closing may take. */
  closeMs?: number
}

const AGAIN_MS = 300
const SETTLE_MS = 1000
const PAGE = 100

/** The second side of the migration: what PostgreSQL was told, DynamoDB is told too, and what was read is compared. */
export function projectShadow(options: ShadowOptions) {
  const { postgres, lookups, copies, deleteProject, watch, limit = 1000, closeMs = 10_000 } = options
  const writes = shadowQueue({ limit, atOnce: 8, pending: watch.pending })
  /** Apart from the writes: a comparison takes its time where it finds something, and is no loss when it is dropped. */
  const comparisons = shadowQueue({ limit: 200, atOnce: 4, pending: watch.pending })
  let isClosed = false

  /** Writes behind the caller's back. */
  function write(project: string, action: string, job: () => Promise<unknown>): void {
    const isHeld = writes.add(project, async () => {
      try {
        await job()
        watch.write('written')
      } catch (error) {
        lose(project, action, (error as Error).message)
      }
    })
    if (!isHeld) watch.write('dropped', { action, project, reason: `${limit} writes are waiting already` })
  }

  /** What PostgreSQL may have done without saying so: nobody knows what DynamoDB is to be told. */
  const lose = (project: string, action: string, reason: string) => watch.write('failed', { action, project, reason })

  /**
   * Makes DynamoDB have the project as PostgreSQL has it at this moment: answers of concurrent writes do not come in the
   * order of the writes, and while one waits here, others change it. As it was told, if PostgreSQL cannot be asked.
   */
  async function copyProject(name: string, told?: ProjectRow): Promise<void> {
    const row = await postgres.findProject(name).catch(() => told)
    if (row) await copy(row, [], true)
  }

  /** The same for tokens; the project is brought only if it is not there, for others may have changed it. */
  async function copyTokens(owner: ProjectRow, told: TokenCopy[]): Promise<void> {
    const tokens = await Promise.all(told.map(token => asItIs(owner.project, token)))
    const left = tokens.filter(token => token !== undefined)
    if (left.length > 0) await copy(owner, left, 'tokens')
  }

  async function asItIs(project: string, told: TokenCopy): Promise<TokenCopy | undefined> {
    const found = await postgres.findToken(project, told.tokenId).catch(() => ({ token: told }))
    if (!found?.token) return undefined
    const { createdAt, expiresAt } = found.token
    return { ...told, createdAt: createdAt ?? '', expiresAt: expiresAt ?? '' }
  }

  /** Brings a project that is not there, and leaves one that is. */
  const bringProject = (row: ProjectRow) => copy(row, [], 'tokens')

  /** Of a project that is there in PostgreSQL, what is still being deleted in DynamoDB is an earlier one's, and goes first. */
  async function copy(row: ProjectRow, tokens: TokenCopy[], overwrite: Overwrite): Promise<void> {
    if ((await tryToCopy(row, tokens, overwrite)) === undefined) return
    await deleteProject(row.project)
    const reason = await tryToCopy(row, tokens, overwrite)
    if (reason !== undefined) throw new Problem('concurrent-changes', reason)
  }

  /** Gives what stands in the way, if anything does. A project without a repository is shown with an empty one. */
  async function tryToCopy({ project, repository }: ProjectRow, tokens: TokenCopy[], overwrite: Overwrite) {
    let reason: string | undefined
    await copies.copyAll([{ project, repository: repository ?? '', tokens }], { overwrite }, (...told) => {
      const [, , result] = told
      if (result.outcome === 'failed') reason = result.reason
    })
    return reason
  }

  /** Compares behind the caller's back; only a difference that is still there at a second look counts. */
  function compare(project: string, look: () => Promise<Difference[]>): void {
    const isHeld = comparisons.add(project, async () => {
      try {
        await writes.settled(project, SETTLE_MS)
        let differences = await look()
        if (differences.length > 0) {
          await sleep(AGAIN_MS)
          await writes.settled(project, SETTLE_MS)
          differences = await look()
        }
        if (differences.length === 0) watch.compare('same')
        for (const difference of differences) watch.compare('different', shown(difference))
      } catch (error) {
        if (!isClosed) watch.compare('failed', { project, reason: (error as Error).message })
      }
    })
    if (!isHeld) watch.compare('dropped', { project })
  }

  async function lookAtProject(name: string): Promise<Difference[]> {
    const [row, stored] = await Promise.all([postgres.findProject(name), lookups.findProjects([name]).catch(nothing)])
    return compareProjects(row ? [row] : [], stored)
  }

  async function lookAtToken(project: string, tokenId: string): Promise<Difference[]> {
    const [found, stored] = await Promise.all([
      postgres.findToken(project, tokenId),
      lookups.findTokens([{ project, tokenId }]).catch(nothing)
    ])
    return compareTokens(found?.token ? [{ project, ...found.token }] : [], stored)
  }

  /** A page of both lists. The longer one is cut where the other ends, unless that is its end. */
  async function lookAtTokens(project: string, after: string, limit: number): Promise<Difference[]> {
    const [rows, stored] = await Promise.all([
      postgres.listTokens(project, after, limit),
      lookups.listTokens(project, after, limit).catch(nothing)
    ])
    const lastOf = (list: { tokenId: string }[]) => (list.length < limit ? undefined : list.at(-1)?.tokenId)
    const ends = [lastOf(rows), lastOf(stored)].filter(end => end !== undefined)
    const isWithin = ({ tokenId }: { tokenId: string }) => ends.every(end => byteOrder(tokenId, end) <= 0)
    const here = rows.filter(isWithin).map(row => ({ project, ...row }))
    return compareTokens(here, stored.filter(isWithin))
  }

  async function lookAtAll(project: string): Promise<Difference[]> {
    const found = await lookAtProject(project)
    for (let after: string | undefined = ''; after !== undefined; ) {
      found.push(...(await lookAtTokens(project, after, PAGE)))
      after = (await postgres.listTokens(project, after, PAGE))[PAGE - 1]?.tokenId
    }
    return found
  }

  return {
    write,
    lose,
    copyProject,
    copyTokens,
    bringProject,
    compareProject: (name: string) => compare(name, () => lookAtProject(name)),
    compareToken: (name: string, tokenId: string) => compare(name, () => lookAtToken(name, tokenId)),
    compareTokens: (name: string, after: string, limit: number) =>
      compare(name, () => lookAtTokens(name, after, limit)),
    compareAll: (name: string) => compare(name, () => lookAtAll(name)),
    /** Waits for a project's pending writes, though not for long. */
    settled: (name: string) => writes.settled(name, SETTLE_MS),
    /** Writes are finished, as far as there is time; comparisons only as long as that takes. */
    async close(): Promise<void> {
      const left = await writes.close(closeMs)
      for (const project of left) watch.write('dropped', { project, reason: 'the server has stopped' })
      isClosed = true
      await comparisons.close(0)
    }
  }
}

export type ProjectShadow = ReturnType<typeof projectShadow>

/** DynamoDB has nothing under a name that is too long for its keys. */
function nothing(error: unknown): never[] {
  if (error instanceof Problem && error.code === 'invalid-key') return []
  throw error
}

const shown = (difference: Difference): Difference => ({
  ...difference,
  postgres: withoutPassword(difference.postgres),
  dynamo: withoutPassword(difference.dynamo)
})

const byteOrder = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
