/** Work that runs several at a time. A failure is thrown by the next call, also if it came while nobody waited. */
export interface Pool {
  /** Adds work that has begun, and waits while there is too much of it. */
  add(work: Promise<void>): Promise<void>
  /** Waits for all of it. */
  finish(): Promise<void>
}

export function createPool(atOnce: number): Pool {
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  const assertNone = () => {
    if (failures.length) throw failures[0]
  }

  return {
    async add(work) {
      const tracked = work.catch(error => void failures.push(error)).finally(() => running.delete(tracked))
      running.add(tracked)
      if (running.size >= atOnce) await Promise.race(running)
      assertNone()
    },
    async finish() {
      await Promise.all(running)
      assertNone()
    }
  }
}
