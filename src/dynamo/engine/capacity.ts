import { areEqualMaps } from './conditions.js'
import { keys } from './rows.js'
import { itemBytes } from './sizes.js'
import type { Data, Item } from './types.js'

/** One item that a transaction read or wrote. */
export interface Unit {
  table: string
  bytes: number
}

/** What followed from an item before a write, and what follows from it now: its rows in indexes, by their keys. */
export interface Move {
  table: string
  before: Map<string, unknown>
  after: Map<string, unknown>
}

interface Consumed {
  TableName: string
  CapacityUnits: number
  Table?: { CapacityUnits: number }
}

type Kind = 'Read' | 'Write'

const unitBytes = { Read: 4096, Write: 1024 }
const unitsOf = (kind: Kind, bytes: number) => Math.max(1, Math.ceil(bytes / unitBytes[kind]))
const isWanted = (wanted: unknown) => wanted === 'TOTAL' || wanted === 'INDEXES'

/** What a transaction consumed, by table: twice what its reads or writes alone would; an index is written once. */
export function consumed(
  kind: Kind,
  wanted: unknown,
  units: Unit[],
  moves: Move[] = []
): { ConsumedCapacity?: object[] } {
  if (!isWanted(wanted)) return {}
  const totals = new Map<string, number>()
  for (const { table, bytes } of units) totals.set(table, (totals.get(table) ?? 0) + 2 * unitsOf(kind, bytes))
  const split = (sum: number) => ({ CapacityUnits: sum, [`${kind}CapacityUnits`]: sum })
  const list = Array.from(totals, ([TableName, sum]) => {
    const { total, byIndex } = indexUnits(moves, TableName)
    const details = wanted === 'INDEXES' ? { Table: split(sum), ...byType(byIndex, split) } : {}
    return { TableName, ...split(sum + total), ...details }
  })
  return { ConsumedCapacity: list }
}

/** Adds what a write of dynalite consumed in indexes, which it does not count. */
export function withIndexes(answer: Data, wanted: unknown, moves: Move[]): Data {
  if (!isWanted(wanted)) return answer
  const add = (consumed: Consumed): Consumed => {
    const { total, byIndex } = indexUnits(moves, consumed.TableName)
    const details = wanted === 'INDEXES' ? byType(byIndex, CapacityUnits => ({ CapacityUnits })) : {}
    return { ...consumed, CapacityUnits: consumed.CapacityUnits + total, ...details }
  }
  const before = answer.ConsumedCapacity as Consumed | Consumed[]
  return { ...answer, ConsumedCapacity: Array.isArray(before) ? before.map(add) : add(before) }
}

/** A query or scan that finds nothing costs as much as one that finds little. */
export function atLeastOne(answer: Data, isConsistent: unknown): Data {
  const consumed = answer.ConsumedCapacity as Consumed | undefined
  if (!consumed || answer.ScannedCount !== 0) return answer
  const CapacityUnits = isConsistent ? 1 : 0.5
  const details = consumed.Table ? { Table: { CapacityUnits } } : {}
  return { ...answer, ConsumedCapacity: { ...consumed, CapacityUnits, ...details } }
}

/** Index rows that came, went or changed, each with its size. One that moves goes and comes. */
function indexUnits(moves: Move[], table: string) {
  const byIndex = new Map<string, number>()
  let total = 0
  const count = (row: string, ...images: unknown[]) => {
    const index = keys.indexOf(row)
    if (index === undefined) return
    const units = unitsOf('Write', Math.max(...images.map(image => itemBytes(image as Item))))
    byIndex.set(index, (byIndex.get(index) ?? 0) + units)
    total += units
  }
  for (const { before, after } of moves.filter(move => move.table === table)) {
    for (const [row, image] of before) if (!after.has(row)) count(row, image)
    for (const [row, image] of after) {
      const old = before.get(row)
      if (old === undefined) count(row, image)
      else if (!areEqualMaps(old as Item, image as Item)) count(row, old, image)
    }
  }
  return { total, byIndex }
}

/** By index as DynamoDB shows it. */
function byType(byIndex: Map<string, number>, show: (units: number) => object) {
  const shown: Record<string, Record<string, object>> = {}
  for (const [index, units] of byIndex) {
    const [type, name] = index.split('~') as [string, string]
    const list = `${type === 'local' ? 'Local' : 'Global'}SecondaryIndexes`
    shown[list] = { ...shown[list], [name]: show(units) }
  }
  return shown
}
