import type { Domain, TableId } from '../../src/dynamo/tables.js'
import type { Started } from '../helpers.js'

type Item = Record<string, unknown>
type Answer = Item | ((item: Item) => Item)

/** One entity's proof that the table is the contract, in both directions. */
export interface ItemCase {
  entity: string
  domain: Domain
  table: TableId
  /** Items as the original system writes them, without anything of ElectroDB. */
  document: Item[]
  /** What the API must answer for them: by key, list, index and collection. */
  reads: { url: string; answer: Item }[]
  /** Calls that write through the API, and the exact item that must stand in the table afterwards. */
  writes: {
    prepare?: (started: Started) => Promise<unknown>
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
    url: string
    body?: unknown
    /** The keys of the item; a function where the answer gives an id. */
    key: [hash: string, range: string] | ((answer: Item) => [hash: string, range: string])
    /** The whole item; a function where the answer gives an id or a secret. */
    item: Answer
  }[]
  /** An update through the API of the first document's item, which must keep an attribute that we do not know. */
  update?: { method: 'PUT' | 'PATCH' | 'POST'; url: string; body: unknown }
}

/** The moment at which these tests happen. */
export const NOW = Date.parse('2026-01-31T12:00:00.000Z')
export const NOW_ISO = new Date(NOW).toISOString()
