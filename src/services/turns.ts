import { setTimeout as sleep } from 'node:timers/promises'

/** Does something once those who came before with the same key have done theirs. */
export type InTurn = <T>(key: string, action: () => Promise<T>) => Promise<T>

/** How long a caller waits for those before him: if the database hangs, they are not to fail one after the other. */
const PATIENCE_MS = 5000

/**
 * Turns for callers of one process who would only get into each other's way, first come, first served. Nothing may
 * depend on them: callers of other processes know of no turns, and who has waited too long goes ahead.
 */
export function createTurns(patienceMs = PATIENCE_MS): InTurn {
  const last = new Map<string, Promise<unknown>>()

  return async (key, action) => {
    const before = last.get(key)
    const mine = before ? patiently(before).then(action) : action()
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }

  async function patiently(before: Promise<unknown>): Promise<void> {
    const over = new AbortController()
    const tooLong = sleep(patienceMs, undefined, { signal: over.signal })
    // How it ended for the one before is that one's business.
    await Promise.race([before, tooLong]).catch(() => {})
    over.abort()
    await tooLong.catch(() => {})
  }
}
