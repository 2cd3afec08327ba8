import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { Problem } from '../problems.js'

/** Where a list goes on: sealed, so that it shows no key, and bound to the list that it was made for. */
export interface Cursors {
  seal(list: string, position: string): string
  open(list: string, cursor: string): string
}

/** What a caller asks of a list. */
export interface PageRequest {
  limit?: number
  cursor?: string
}

export const DEFAULT_LIMIT = 25

export interface Page<T> {
  items: T[]
  cursor: string | null
}

const IV_BYTES = 12
const TAG_BYTES = 16
const IVS_AT_ONCE = 256

/** Cursors under a key derived from the secret; nodes that share the secret understand each other's. */
export function createCursors(secret: string | undefined): Cursors {
  const key = Buffer.from(hkdfSync('sha256', secret ?? randomBytes(32), '', 'quintet cursor', 32))

  const newIv = ivs()

  return {
    seal(list, position) {
      const iv = newIv()
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(list))
      const sealed = Buffer.concat([cipher.update(position), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    open(list, cursor) {
      const bytes = Buffer.from(cursor, 'base64url')
      if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor)
        throw new Problem('invalid-cursor')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
        .setAAD(Buffer.from(list))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString()
      } catch {
        throw new Problem('invalid-cursor')
      }
    }
  }
}

/** Random bytes cost by the call more than by the byte. */
function ivs(): () => Buffer {
  let pool = Buffer.alloc(0)
  return () => {
    if (pool.length === 0) pool = randomBytes(IV_BYTES * IVS_AT_ONCE)
    const iv = pool.subarray(0, IV_BYTES)
    pool = pool.subarray(IV_BYTES)
    return iv
  }
}

/** One page of an ElectroDB query; `list` names the list and all its arguments. */
export async function readPage<T>(
  cursors: Cursors,
  list: readonly unknown[],
  request: PageRequest,
  query: (options: { limit: number; cursor: string | null }) => Promise<{ data: T[]; cursor: string | null }>
): Promise<Page<T>> {
  const name = JSON.stringify(list)
  const position = request.cursor === undefined ? null : cursors.open(name, request.cursor)
  const { data, cursor } = await query({ limit: request.limit ?? DEFAULT_LIMIT, cursor: position })
  return { items: data, cursor: cursor === null ? null : cursors.seal(name, cursor) }
}
