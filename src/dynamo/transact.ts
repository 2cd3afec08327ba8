/** What became of one part of a cancelled transaction. */
export interface Part<T = Record<string, unknown>> {
  /** Its condition did not hold. */
  rejected: boolean
  /** The item that stood there, if the part asked for it. */
  item: T | null
}

interface Transaction {
  go(options: object): Promise<{ canceled: boolean; data: unknown }>
}

const OPTIONS = { ignoreOwnership: true, originalErr: true }

/**
 * Commits an ElectroDB write transaction. ElectroDB resolves a cancelled one like a committed one; here a committed
 * one gives `null`, a cancelled one its parts.
 */
export async function commit(transaction: Transaction): Promise<Part[] | null> {
  const { canceled, data } = await transaction.go(OPTIONS)
  if (!canceled) return null
  const parts = data as (Part & { code: string; message?: string })[]
  const broken = parts.find(({ code }) => code !== 'None' && code !== 'ConditionalCheckFailed')
  if (broken) throw new Error(`Transaction cancelled: ${broken.code} ${broken.message ?? ''}`)
  return parts
}

/** Reads several items in one consistent request; a missing one is `null`. */
export async function readTogether(transaction: Transaction): Promise<unknown[]> {
  const { data } = await transaction.go(OPTIONS)
  return (data as { item: unknown }[]).map(part => part.item)
}
