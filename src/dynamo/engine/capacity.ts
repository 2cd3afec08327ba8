/** One item that a transaction read or wrote. */
export interface Unit {
  table: string
  bytes: number
}

const unitBytes = { Read: 4096, Write: 1024 }

/** What a transaction consumed, by table: twice what its reads or writes alone would. */
export function consumed(kind: 'Read' | 'Write', wanted: unknown, units: Unit[]): { ConsumedCapacity?: object[] } {
  if (wanted !== 'TOTAL' && wanted !== 'INDEXES') return {}
  const totals = new Map<string, number>()
  for (const { table, bytes } of units) {
    totals.set(table, (totals.get(table) ?? 0) + 2 * Math.max(1, Math.ceil(bytes / unitBytes[kind])))
  }
  const list = Array.from(totals, ([TableName, sum]) => {
    const capacity = { CapacityUnits: sum, [`${kind}CapacityUnits`]: sum }
    return { TableName, ...capacity, ...(wanted === 'INDEXES' && { Table: capacity }) }
  })
  return { ConsumedCapacity: list }
}
