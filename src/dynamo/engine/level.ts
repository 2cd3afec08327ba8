/** A version of the database that later writes do not change. */
export interface Snapshot {
  close(): Promise<void>
}

export interface Range {
  gt?: string
  gte?: string
  lt?: string
  lte?: string
  reverse?: boolean
  limit?: number
}

export interface Rows<T> {
  nextv(size: number): Promise<T[]>
  close(): Promise<void>
}

export type Change = { type: 'put'; key: string; value: unknown } | { type: 'del'; key: string }

/** What we use of abstract-level, with JSON values. */
export interface Level {
  open(): Promise<void>
  close(): Promise<void>
  getSync(key: string, options: { snapshot?: Snapshot }): unknown
  batch(changes: Change[]): Promise<void>
  clear(range: Range): Promise<void>
  snapshot(): Snapshot
  keys(range: Range & { snapshot?: Snapshot }): Rows<string>
  values(range: Range & { snapshot?: Snapshot }): Rows<unknown>
  iterator(range: Range & { snapshot?: Snapshot }): Rows<[string, unknown]>
}

/** All keys that begin with a prefix; prefixes end in `~`, which no table or index name holds. */
export const within = (prefix: string): Range => ({ gte: prefix, lt: `${prefix.slice(0, -1)}\x7f` })

/** Walks rows in chunks, so that a table of any size passes through little memory. */
export async function* chunks<T>(rows: Rows<T>, size: number): AsyncGenerator<T[]> {
  try {
    for (;;) {
      const chunk = await rows.nextv(size)
      if (chunk.length === 0) return
      yield chunk
    }
  } finally {
    await rows.close()
  }
}

/** Runs tasks one after another; a failed one does not hold up the next. */
export function oneAtATime(): <T>(task: () => T | Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return task => {
    const run = last.then(task)
    last = run.catch(() => {})
    return run
  }
}
