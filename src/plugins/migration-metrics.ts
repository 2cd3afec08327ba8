import { Counter, Gauge, type Registry } from 'prom-client'
import type { Watch } from '../services/project-shadow.js'

export type Log = (details: object, message: string) => void

/** Counts what happens in DynamoDB during the migration from PostgreSQL, and logs what should not. */
export function watchMigration(register: Registry, log: Log, phase: string, now: () => number): Watch {
  const registers = [register]
  const writes = new Counter({
    name: 'quintet_migration_shadow_writes_total',
    help: 'Writes to DynamoDB in the shadow of PostgreSQL, by outcome',
    labelNames: ['outcome'],
    registers
  })
  const comparisons = new Counter({
    name: 'quintet_migration_comparisons_total',
    help: 'Reads that were compared with DynamoDB, and the differences found, by outcome',
    labelNames: ['outcome'],
    registers
  })
  const gauge = (name: string, help: string) => new Gauge({ name: `quintet_migration_${name}`, help, registers })
  const lastLost = gauge(
    'last_lost_write_timestamp_seconds',
    'When a shadow write was last dropped or failed; 0: never'
  )
  const lastDifference = gauge('last_difference_timestamp_seconds', 'When a difference was last found; 0: never')
  const lastFailed = gauge(
    'last_failed_comparison_timestamp_seconds',
    'When a comparison was last not possible; 0: never'
  )
  const pending = gauge('pending', 'Shadow writes and comparisons that are still to be done')
  gauge('started_timestamp_seconds', 'Since when this process counts').set(now() / 1000)
  new Gauge({
    name: 'quintet_migration_phase',
    help: 'The phase, as PROJECTS_STORE has it',
    labelNames: ['phase'],
    registers
  }).set({ phase }, 1)
  for (const outcome of ['written', 'failed', 'dropped']) writes.inc({ outcome }, 0)
  for (const outcome of ['same', 'different', 'failed', 'dropped']) comparisons.inc({ outcome }, 0)

  return {
    pending: change => pending.inc(change),
    write(outcome, details = {}) {
      writes.inc({ outcome })
      if (outcome === 'written') return
      lastLost.set(now() / 1000)
      log(details, `a shadow write was ${outcome === 'failed' ? 'not possible' : 'dropped'}`)
    },
    compare(outcome, details = {}) {
      comparisons.inc({ outcome })
      if (outcome === 'different') lastDifference.set(now() / 1000)
      if (outcome === 'different') log(details, 'DynamoDB differs from PostgreSQL')
      if (outcome === 'failed') lastFailed.set(now() / 1000)
      if (outcome === 'failed') log(details, 'a comparison was not possible')
    }
  }
}
