import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'
import { createMetrics } from '../src/plugins/metrics.js'

/** Deletes a project and dies without a word when DynamoDB has answered the n-th request of an operation. */
const [folder, project, last, n] = process.argv.slice(2)
const config = readConfig({ DOMAINS: 'projects', EMBEDDED_DATA: folder })
let answered = 0
const database = await openDatabase(config, ({ operation }) => {
  if (operation === last) answered += 1
  if (answered === Number(n)) process.kill(process.pid, 'SIGKILL')
})
const app = await buildApp({ config, database, metrics: createMetrics() })
await app.inject({ method: 'DELETE', url: `/v1/projects/${project}` })
