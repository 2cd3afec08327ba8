import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'
import { createMetrics } from '../src/plugins/metrics.js'

/** Deletes projects and prints, for each, by how many bytes of living memory the deletion has risen at most. */
const [endpoint, ...projects] = process.argv.slice(2)
const config = readConfig({ DOMAINS: 'projects', DYNAMODB: endpoint })
/** Every so many batches the garbage goes, and what is left is measured. */
const EVERY = 5
let batches = 0
let peak = 0

const living = () => {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
const database = await openDatabase(config, ({ operation }) => {
  if (operation !== 'BatchWriteItem') return
  batches += 1
  if (batches % EVERY === 0) peak = Math.max(peak, living())
})
const app = await buildApp({ config, database, metrics: createMetrics() })
const risen: number[] = []
for (const project of projects) {
  const before = living()
  peak = 0
  const { statusCode } = await app.inject({ method: 'DELETE', url: `/v1/projects/${project}` })
  if (statusCode !== 204) throw new Error(`the deletion of ${project} gave ${statusCode}`)
  risen.push(peak - before)
}
await app.close()
await database.close()
process.stdout.write(JSON.stringify({ risen, batches }))
