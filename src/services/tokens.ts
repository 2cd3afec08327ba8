import { createHash, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { invalid } from '../problems.js'
import type { ServiceContext } from './context.js'

const DAY = 24 * 60 * 60 * 1000
const DEFAULT_LIFE_DAYS = 365
/** After it years have more digits, and texts no longer the order of times. */
const LAST_END = Date.parse('9999-12-31T23:59:59.999Z')

export interface TokenLife {
  expiresAt?: string
  expiresInDays?: number
}

/** The text of a project's token: `qt.<project>.<tokenId>.<secret>.<checksum>`. */
export interface TokenText {
  project: string
  tokenId: string
  secret: string
}

/** What no name of a project holds, however it is written. */
const UNNAMEABLE = /[#\p{Cc}]/u
const TEXT = /^(qt\.([^\s]{1,3100})\.(tkn-[\w-]{1,64})\.([\w-]{43}))\.([0-9a-f]{8})$/

/** A new token's id and secret out of random bytes; both are unguessable. */
export function newToken(randomBytes: (size: number) => Buffer) {
  return { tokenId: `tkn-${randomBytes(16).toString('hex')}`, secret: randomBytes(32).toString('base64url') }
}

/** The token as its holder keeps it; the checksum lets a typo be refused without a look at the table. */
export function presentToken({ project, tokenId, secret }: TokenText): string {
  const text = `qt.${encodeURIComponent(project)}.${tokenId}.${secret}`
  return `${text}.${checksum(text)}`
}

/** The parts of a presented token, or nothing if it cannot be one of ours. */
export function parseToken(text: string): TokenText | undefined {
  const [, body, project, tokenId, secret, sum] = TEXT.exec(text) ?? []
  if (!body || !project || !tokenId || !secret || checksum(body) !== sum) return undefined
  const name = decoded(project)
  return name === undefined || UNNAMEABLE.test(name) ? undefined : { project: name, tokenId, secret }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}

/** What is stored of a secret. It has 256 random bits, so a slow hash would add nothing. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** Compares in constant time, with an unknown token as long as with a wrong one. */
export function isSecret(secret: string, storedHash: string | undefined): boolean {
  const given = createHash('sha256').update(secret).digest()
  const stored = Buffer.from(storedHash ?? '', 'hex')
  const known = stored.length === given.length
  return timingSafeEqual(given, known ? stored : Buffer.alloc(given.length)) && known
}

/** The time at which a new token ends. */
export function endOf({ expiresAt, expiresInDays }: TokenLife, now: number): string {
  if (expiresAt !== undefined && expiresInDays !== undefined) {
    throw invalid('body/expiresInDays', 'cannot be given together with expiresAt')
  }
  const end = expiresAt === undefined ? now + (expiresInDays ?? DEFAULT_LIFE_DAYS) * DAY : Date.parse(expiresAt)
  if (!(end > now)) throw invalid('body/expiresAt', 'must lie in the future')
  if (end > LAST_END) throw invalid('body/expiresAt', 'must lie before the year 10000')
  return new Date(end).toISOString()
}

/** A new token: what is stored of it, and what its owner gets to see this once. */
export function makeToken(name: string, expiresAt: string, { now, randomBytes }: ServiceContext) {
  const { tokenId, secret } = newToken(randomBytes)
  const createdAt = new Date(now()).toISOString()
  return {
    item: { project: name, tokenId, createdAt, expiresAt, hashedToken: hashSecret(secret) },
    answer: { tokenId, createdAt, expiresAt, active: true, token: presentToken({ project: name, tokenId, secret }) }
  }
}
