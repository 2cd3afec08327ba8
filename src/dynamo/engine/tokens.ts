import type { Database } from './database.js'
import { failure } from './errors.js'
import { chunks, within } from './level.js'
import type { Overlay } from './overlay.js'
import { keys } from './rows.js'

const LIFE_MS = 10 * 60 * 1000

interface Known {
  hash: string
  at: number
}

/** The transactions of the last ten minutes, by their client's token: the same one twice is done once. */
export class Tokens {
  // In the order of time, as the rows are: the oldest are at the front.
  readonly #known = new Map<string, Known>()
  readonly #now: () => number

  private constructor(now: () => number) {
    this.#now = now
  }

  static async load(db: Database, now: () => number): Promise<Tokens> {
    const tokens = new Tokens(now)
    for await (const rows of chunks(db.entries(within(keys.tokens)), 1000)) {
      for (const [key, hash] of rows as [string, string][]) {
        const [at = '', ...token] = key.slice(keys.tokens.length).split('/')
        tokens.#known.set(token.join('/'), { hash, at: Number(at) })
      }
    }
    return tokens
  }

  /** Whether a transaction has been done. Its token may not stand for another one. */
  isKnown(token: string, hash: string): boolean {
    const known = this.#known.get(token)
    if (!known || this.#isOld(known)) return false
    if (known.hash === hash) return true
    throw failure(
      'IdempotentParameterMismatchException',
      'The request uses the same client token as a previous, but non-identical request.'
    )
  }

  /** Has the token stored with the transaction it stands for, and old ones deleted. Call what this gives once all is stored. */
  note(overlay: Overlay, token: string, hash: string): () => void {
    const at = this.#now()
    for (const [old, known] of this.#known) {
      if (!this.#isOld(known)) break
      overlay.change(keys.token(known.at, old), undefined)
      this.#known.delete(old)
    }
    overlay.change(keys.token(at, token), hash)
    return () => {
      this.#known.delete(token)
      this.#known.set(token, { hash, at })
    }
  }

  #isOld(known: Known): boolean {
    return known.at <= this.#now() - LIFE_MS
  }
}
