#!/usr/bin/env node
import { InvalidConfig, readConfig } from './config.js'
import { openDatabase } from './dynamo/database.js'
import { explain } from './dynamo/explain.js'
import { createTable, tableDifferences, tableWarnings } from './dynamo/schema.js'
import { tablesOf } from './dynamo/tables.js'
import { INFRA_USAGE, infraCommands } from './infra/commands.js'

const USAGE = `Usage:
  quintet tables create   creates the tables that are missing where DYNAMODB points
  quintet tables check    compares the tables there with the declared ones; exit code 1 if they differ
${INFRA_USAGE}

DYNAMODB, DOMAINS and the names of tables are taken from the environment, as the server does.`

/** Runs a command; the result is the exit code. */
async function run(words: string[]): Promise<number> {
  const [group, name = '', ...rest] = words
  if (group === 'tables' && Object.hasOwn(infraCommands, name)) return infraCommands[name]?.(rest, process.env) ?? 2
  const command = words.join(' ')
  if (command !== 'tables create' && command !== 'tables check') {
    console.error(USAGE)
    return 2
  }
  const config = readConfig({ ...process.env, HOST: '127.0.0.1' })
  const database = await openDatabase(config, () => {})
  try {
    let different = 0
    for (const [id, table] of tablesOf(config.domains)) {
      const name = config.tables[id]
      const { client } = database.dynamo(table.domain)
      if (command === 'tables create') {
        const made = await createTable(client, name, table)
        console.log(`table ${name} ${made ? 'was created' : 'is there already'}`)
      }
      const differences = await tableDifferences(client, name, table)
      const warnings = differences.length ? [] : await tableWarnings(client, name, table)
      different += differences.length
      for (const line of [...differences, ...warnings]) console.log(line)
      if (!differences.length && !warnings.length && command === 'tables check')
        console.log(`table ${name} is as declared`)
    }
    return different ? 1 : 0
  } finally {
    await database.close()
  }
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  const lines = error instanceof InvalidConfig ? error.lines : [explain(error)]
  for (const line of lines) console.error(`quintet: ${line}`)
  process.exitCode = 1
}
