import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'
import { readConfig } from '../src/config.js'
import { domains } from '../src/dynamo/tables.js'
import { policyJson, serverlessYaml, tablesYaml } from '../src/infra/files.js'
import { lintTemplate } from './template-lint.js'

/**
 * Writes the templates in infra/ from the declarations; with --check, says whether they are what is generated. Either
 * way the templates are checked against AWS's specification of its resources.
 */
const { tables } = readConfig({ EMBEDDED_DATA: 'memory' })
const files = {
  'tables.yaml': tablesYaml(domains, tables),
  'serverless.yaml': serverlessYaml(domains, tables, '../dist/lambda'),
  'policy.json': policyJson(domains, tables)
}

for (const [name, generated] of Object.entries(files)) {
  const file = new URL(`../../infra/${name}`, import.meta.url)
  if (!process.argv.includes('--check')) writeFileSync(file, generated)
  else if (readFileSync(file, 'utf8') !== generated) {
    console.error(`infra/${name} is not what the declarations generate: run npm run infra`)
    process.exitCode = 1
  }
  if (!name.endsWith('.yaml')) continue
  for (const complaint of lintTemplate(parse(generated))) {
    console.error(`infra/${name}: ${complaint}`)
    process.exitCode = 1
  }
}
