import { stat } from 'node:fs/promises'
import { createPool } from '../dynamo/pool.js'
import { Problem } from '../problems.js'
import {
  MAX_PARTS,
  type Outcome,
  type ProjectCopy,
  type projectCopies,
  sizeOf,
  type TokenCopy
} from '../services/project-copies.js'
import { withoutPassword } from '../services/project-differences.js'
import { readFile } from './file.js'
import { quoted } from './names.js'
import type { Output } from './output.js'
import { contentOf } from './records.js'

const BATCHES_AT_ONCE = 8

export type Summary = Record<'written' | 'skipped' | 'overwritten' | 'differing' | 'failed', number>

interface Placed {
  line: number
  copy: ProjectCopy
}

/** Loads a dump into DynamoDB. It can be killed and run again: what is there already is skipped. */
export async function load(
  path: string,
  { copyAll }: ReturnType<typeof projectCopies>,
  { overwrite }: { overwrite: boolean },
  output: Output
): Promise<number> {
  const summary: Summary = { written: 0, skipped: 0, overwritten: 0, differing: 0, failed: 0 }
  const fail = (line: number, reason: string) => {
    summary.failed += 1
    output.line(`failed   line ${line}: ${reason}`)
  }
  const work = batches(async batch => {
    const lines = new Map(batch.map(({ line, copy }) => [copy, line]))
    const report = (copy: ProjectCopy, token: TokenCopy | undefined, outcome: Outcome) =>
      tell(summary, output, lines.get(copy) ?? 0, copy, token, outcome)
    await copySplitting(batch, copies => copyAll(copies, { overwrite }, report), fail)
  })
  const progress = output.progress((await stat(path)).size)
  try {
    for await (const read of readFile(path, progress.add)) {
      if ('damage' in read) {
        fail(read.line, read.damage)
        continue
      }
      const { copies, faults } = contentOf(read.value)
      for (const fault of faults) fail(read.line, fault)
      for (const copy of copies) await work.add({ line: read.line, copy })
    }
  } finally {
    await work.finish().finally(() => {
      progress.end()
      output.line(
        Object.entries(summary)
          .map(([what, count]) => `${what} ${count}`)
          .join(', ')
      )
    })
  }
  return summary.differing + summary.failed > 0 ? 1 : 0
}

/** Fills batches and runs several at a time; what continues a project waits for what came before it. */
function batches(run: (batch: Placed[]) => Promise<void>) {
  const pool = createPool(BATCHES_AT_ONCE)
  let batch: Placed[] = []

  async function start(): Promise<void> {
    if (batch.length === 0) return
    const work = run(batch)
    batch = []
    await pool.add(work)
  }
  async function finish(): Promise<void> {
    try {
      await start()
    } finally {
      await pool.finish()
    }
  }

  return {
    finish,
    async add(placed: Placed): Promise<void> {
      const { copy } = placed
      const isHere = batch.some(other => other.copy.project === copy.project)
      if (isHere || copy.repository === undefined) await finish()
      else if (sizeOf(batch.map(other => other.copy)) + sizeOf([copy]) > MAX_PARTS) await start()
      batch.push(placed)
    }
  }
}

/** A batch that DynamoDB refuses as a whole is tried in halves, so that only the culprit fails. */
async function copySplitting(
  batch: Placed[],
  copy: (copies: ProjectCopy[]) => Promise<void>,
  fail: (line: number, reason: string) => void
): Promise<void> {
  try {
    await copy(batch.map(placed => placed.copy))
  } catch (error) {
    const { name, message } = error as Error
    const isOurs = name === 'ValidationException' || (error instanceof Problem && error.status < 500)
    if (!isOurs) throw error
    const [only] = batch
    if (batch.length === 1 && only) return fail(only.line, `project ${quoted(only.copy.project)}: ${message}`)
    const middle = Math.ceil(batch.length / 2)
    await copySplitting(batch.slice(0, middle), copy, fail)
    await copySplitting(batch.slice(middle), copy, fail)
  }
}

function tell(
  summary: Summary,
  output: Output,
  line: number,
  copy: ProjectCopy,
  token: TokenCopy | undefined,
  result: Outcome
): void {
  summary[result.outcome] += 1
  const what = token
    ? `token ${quoted(token.tokenId)} of project ${quoted(copy.project)}`
    : `project ${quoted(copy.project)}`
  if (result.outcome === 'failed') output.line(`failed   line ${line}: ${what}: ${result.reason}`)
  if (result.outcome !== 'differing' && result.outcome !== 'overwritten') return
  for (const { field, wanted, stored } of result.differences) {
    const values = `${quoted(withoutPassword(wanted))} in the file, ${quoted(withoutPassword(stored))} in DynamoDB`
    const word = result.outcome === 'differing' ? 'differs ' : 'changed '
    output.line(`${word} line ${line}: ${what}: ${field} is ${values}`)
  }
}
