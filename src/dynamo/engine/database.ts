import { newLevel } from './dynalite.js'
import { type Change, type Level, oneAtATime, type Range, type Rows, type Snapshot, within } from './level.js'
import { keys } from './rows.js'
import type { Table } from './types.js'

/** What a write must know of its table. */
export interface TableInfo {
  table: Table
  /** The attribute that holds the time of expiry. */
  ttl?: string
}

/** The rows of all tables, in a folder or in memory. Reads are lock-free; writes are atomic and come one at a time. */
export class Database {
  readonly #level: Level
  readonly #tables = new Map<string, TableInfo>()

  /** Runs a task that writes: it alone reads what it writes upon. */
  readonly write = oneAtATime()

  constructor(level: Level) {
    this.#level = level
  }

  get(key: string, snapshot?: Snapshot): unknown {
    return this.#level.getSync(key, { snapshot })
  }

  /** A table and its settings, kept at hand since every request needs them; nobody may change what this gives. */
  table(name: string): TableInfo | undefined {
    const known = this.#tables.get(name)
    if (known) return known
    const table = this.get(keys.table(name)) as Table | undefined
    if (!table) return undefined
    const info = { table, ttl: this.get(keys.ttl(name)) as string | undefined }
    this.#tables.set(name, info)
    return info
  }

  /** All or nothing. */
  async commit(changes: Change[]): Promise<void> {
    if (changes.length === 0) return
    await this.#level.batch(changes)
    for (const { key } of changes) {
      const name = keys.settingOf(key)
      if (name !== undefined) this.#tables.delete(name)
    }
  }

  clear(prefix: string): Promise<void> {
    return this.#level.clear(within(prefix))
  }

  keys(range: Range, snapshot?: Snapshot): Rows<string> {
    return this.#level.keys({ ...range, snapshot })
  }

  values(range: Range, snapshot?: Snapshot): Rows<unknown> {
    return this.#level.values({ ...range, snapshot })
  }

  entries(range: Range): Rows<[string, unknown]> {
    return this.#level.iterator(range)
  }

  /** Gives a task a version of the database that no write changes under it. */
  async reading<T>(task: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const snapshot = this.#level.snapshot()
    try {
      return await task(snapshot)
    } finally {
      await snapshot.close()
    }
  }

  /** Waits for writes under way, then lets go of the folder. */
  async close(): Promise<void> {
    await this.write(() => {})
    await this.#level.close()
  }
}

/** Opens a folder, or a fresh database in memory. */
export async function openDatabase(path?: string): Promise<Database> {
  const level = newLevel(path)
  try {
    await level.open()
  } catch (err) {
    const why = isLocked(err)
      ? 'is in use by another process: an engine has its folder to itself'
      : `cannot be opened: ${reasonOf(err)}`
    throw new Error(`The folder ${path} ${why}`, { cause: err })
  }
  return new Database(level)
}

/** LevelDB wraps what the system said in general words. */
function reasonOf(err: unknown): string {
  const { message, cause } = err as Error
  return cause instanceof Error ? reasonOf(cause) : message
}

function isLocked(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  return ('code' in err && err.code === 'LEVEL_LOCKED') || isLocked(err.cause)
}
