import { createHash, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** The text of a project's token: `qt.<project>.<tokenId>.<secret>.<checksum>`. */
export interface TokenText {
  project: string
  tokenId: string
  secret: string
}

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
  try {
    return { project: decodeURIComponent(project), tokenId, secret }
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
