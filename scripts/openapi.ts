import { readFileSync, writeFileSync } from 'node:fs'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'
import { openapiYaml } from '../src/plugins/docs.js'
import { createMetrics } from '../src/plugins/metrics.js'

/** Writes openapi.yaml from the routes; with --check, says whether it is what they generate. */
const file = new URL('../../openapi.yaml', import.meta.url)
const config = readConfig({ EMBEDDED_DATA: 'memory' })
const metrics = createMetrics()
const database = await openDatabase(config, metrics.observe)
const app = await buildApp({ config, database, metrics })
await app.ready()
const generated = openapiYaml(app)
await app.close()
await database.close()

if (!process.argv.includes('--check')) {
  writeFileSync(file, generated)
} else if (readFileSync(file, 'utf8') !== generated) {
  console.error('openapi.yaml is not what the routes generate: run npm run openapi')
  process.exit(1)
}
