import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import type { Piece } from '../postgres/rows.js'

/**
 * The file between dump and load: a line of JSON for the header, for each project (further lines for many tokens), and
 * for the end, which has the counts and the SHA-256 of all lines before it. Each line ends with its own checksum, so
 * that damage has a place. docs/migration.md describes it for others.
 */
export const FORMAT = 'quintet-projects/1'

/** Longer than any line that dump writes, short enough to hold. */
const MAX_LINE = 1024 * 1024

export interface Counts {
  projects: number
  tokens: number
}

/** Writes a dump; the file has its name only once it is complete. */
export async function writeFile(path: string, pieces: AsyncIterable<Piece>, takenAt: Date): Promise<Counts> {
  const counts = { projects: 0, tokens: 0 }
  const partial = `${path}.partial`
  try {
    await pipeline(linesOf(pieces, takenAt, counts), createWriteStream(partial, { mode: 0o600, flush: true }))
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  return counts
}

async function* linesOf(pieces: AsyncIterable<Piece>, takenAt: Date, counts: Counts) {
  const hash = createHash('sha256')
  const hashed = (line: string) => {
    hash.update(line)
    return line
  }
  yield hashed(summed({ format: FORMAT, takenAt: takenAt.toISOString() }))
  for await (const { project, repository, tokens } of pieces) {
    counts.projects += repository === undefined ? 0 : 1
    counts.tokens += tokens.length
    const rows = tokens.map(row => ({ token_id: row.tokenId, created_at: row.createdAt, expires_at: row.expiresAt }))
    yield hashed(summed({ project, repository, tokens: rows }))
  }
  yield summed({ end: true, ...counts, sha256: hash.digest('hex') })
}

function summed(value: object): string {
  const text = JSON.stringify(value)
  return `${text.slice(0, -1)},"crc32":"${checksum(text)}"}\n`
}

const checksum = (text: string) => crc32(text).toString(16).padStart(8, '0')

/** A line that is whole: what it holds; or what is wrong with it, or with the file. */
export type Line = { line: number; value: Record<string, unknown> } | { line: number; damage: string }

/** Reads a dump, line by line, and says at its end whether all of it was there. */
export async function* readFile(path: string, progress: (bytes: number) => void): AsyncGenerator<Line> {
  const hash = createHash('sha256')
  const counts = { projects: 0, tokens: 0 }
  let line = 0
  let end: Record<string, unknown> | undefined
  for await (const bytes of splitLines(createReadStream(path))) {
    line += 1
    if (end) {
      yield { line, damage: 'there is more after the line that should be the last' }
      return
    }
    progress(bytes.length)
    const read = parse(bytes)
    const isEnd = 'value' in read && read.value.end === true
    if (!isEnd) hash.update(bytes)
    if ('damage' in read) yield { line, damage: read.damage }
    else if (isEnd) end = read.value
    else if (read.value.format !== undefined) {
      if (read.value.format !== FORMAT || line > 1) yield { line, damage: `is not the first line of ${FORMAT}` }
    } else {
      if (line === 1) yield { line, damage: `the line that should be first is missing (${FORMAT})` }
      count(counts, read.value)
      yield { line, value: read.value }
    }
  }
  if (!end) yield { line: line + 1, damage: 'the file is truncated: its last line, with the checksum, is missing' }
  else yield* checkEnd(line, end, counts, hash.digest('hex'))
}

function count(counts: Counts, { repository, tokens }: Record<string, unknown>): void {
  counts.projects += repository === undefined ? 0 : 1
  counts.tokens += Array.isArray(tokens) ? tokens.length : 0
}

function* checkEnd(line: number, end: Record<string, unknown>, counts: Counts, sha256: string): Generator<Line> {
  const unknown = Object.keys(end).find(name => !['end', 'projects', 'tokens', 'sha256'].includes(name))
  if (unknown !== undefined) yield { line, damage: `${JSON.stringify(unknown)} is not known here` }
  for (const what of ['projects', 'tokens'] as const) {
    if (end[what] !== counts[what])
      yield { line, damage: `says that there are ${end[what]} ${what}, but ${counts[what]} could be read` }
  }
  if (end.sha256 !== sha256) yield { line, damage: 'its SHA-256 is not that of the lines before it' }
}

function parse(bytes: Buffer): { value: Record<string, unknown> } | { damage: string } {
  if (bytes.length > MAX_LINE) return { damage: `is longer than ${MAX_LINE} bytes` }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).trimEnd()
  } catch {
    return { damage: 'is not UTF-8' }
  }
  const [, body, sum] = /^(.*),"crc32":"([0-9a-f]{8})"\}$/s.exec(text) ?? []
  if (sum !== undefined && checksum(`${body}}`) !== sum)
    return { damage: 'is not as it was written: its checksum is wrong' }
  try {
    const { crc32: given, ...value } = JSON.parse(text)
    if (given !== undefined && sum === undefined) return { damage: 'is not as it was written: its checksum is none' }
    return { value }
  } catch {
    return { damage: 'is not JSON; it may be cut off' }
  }
}

/** Lines with their line feeds. One that is too long is cut there, and its rest left out. */
async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let size = 0
  const hold = (part: Buffer) => {
    if (size <= MAX_LINE) held.push(part)
    size += part.length
  }
  const take = () => {
    const line = Buffer.concat(held)
    held = []
    size = 0
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      hold(chunk.subarray(start, at + 1))
      start = at + 1
      yield take()
    }
    if (start < chunk.length) hold(chunk.subarray(start))
  }
  if (size > 0) yield take()
}
