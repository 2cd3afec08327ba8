#!/usr/bin/env node
import { type Config, InvalidConfig, readConfig } from './config.js'
import { openDatabase } from './dynamo/database.js'
import { explain } from './dynamo/explain.js'
import { createTable, tableDifferences, tableWarnings } from './dynamo/schema.js'
import { tablesOf } from './dynamo/tables.js'
import { INFRA_USAGE, infraCommands } from './infra/commands.js'
import { MIGRATE_USAGE, migrateCommands } from './migrate/commands.js'
import { withoutPassword } from './services/project-differences.js'
import { WrongUsage } from './usage.js'

const USAGE = `Usage:
  quintet tables create   creates the tables that are missing where DYNAMODB points
  quintet tables check    compares the tables there with the declared ones; exit code 1 if they differ
${INFRA_USAGE}
${MIGRATE_USAGE}

DYNAMODB, DOMAINS and the names of tables are taken from the environment, as the server does.`

interface Context {
  env: Record<string, string | undefined>
  config: Config
}

/** The commands, two words each; the result is the exit code. */
const commands: Record<string, Record<string, (words: string[], context: Context) => Promise<number>>> = {
  tables: {
    create: (words, { config }) => tables('create', words, config),
    check: (words, { config }) => tables('check', words, config)
  },
  migrate: migrateCommands
}

async function run(all: string[]): Promise<number> {
  if (all.some(word => word === '--help' || word === '-h')) {
    console.log(USAGE)
    return 0
  }
  const [group = '', name = '', ...words] = all
  if (group === 'tables' && Object.hasOwn(infraCommands, name)) return infraCommands[name]?.(words, process.env) ?? 2
  const command =
    Object.hasOwn(commands, group) && Object.hasOwn(commands[group] ?? {}, name) && commands[group]?.[name]
  if (!command) throw new WrongUsage(group ? `there is no command ${all.slice(0, 2).join(' ')}` : 'a command is needed')
  return command(words, { env: process.env, config: readConfig({ ...process.env, HOST: '127.0.0.1' }, 'tables') })
}

async function tables(command: 'create' | 'check', words: string[], config: Config): Promise<number> {
  if (words.length) throw new WrongUsage(`tables ${command} takes no ${words.join(' ')}`)
  const database = await openDatabase(config, () => {})
  try {
    let different = 0
    for (const [id, table] of tablesOf(config.domains)) {
      const name = config.tables[id]
      const { client } = database.dynamo(table.domain)
      if (command === 'create') {
        const made = await createTable(client, name, table).catch(refusal(name))
        console.log(`table ${name} ${made ? 'was created' : 'is there already'}`)
      }
      const differences = await tableDifferences(client, name, table)
      const warnings = differences.length ? [] : await tableWarnings(client, name, table)
      different += differences.length
      for (const line of [...differences, ...warnings]) console.log(line)
      if (!differences.length && !warnings.length && command === 'check') console.log(`table ${name} is as declared`)
    }
    return different ? 1 : 0
  } finally {
    await database.close()
  }
}

/** What the server may do is not enough to create tables. */
const refusal = (table: string) => (error: Error) => {
  if (error.name !== 'AccessDeniedException') throw error
  const actions = 'dynamodb:CreateTable, DescribeTable, DescribeTimeToLive and UpdateTimeToLive'
  throw new Error(`table ${table} cannot be created: that takes ${actions} (${error.name})`)
}

// Whoever reads the lines, as `head` does, may have seen enough of them.
process.stdout.on('error', error => {
  if ((error as { code?: string }).code !== 'EPIPE') throw error
  process.exit(1)
})

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  const isAboutTables = process.argv[2] === 'tables' && !(error instanceof WrongUsage)
  const describe = isAboutTables ? explain : messageOf
  const lines = error instanceof InvalidConfig ? error.lines : [describe(error)]
  // Some messages repeat a word of the command line, which may be a URL with a password.
  for (const line of lines.filter(Boolean)) console.error(`quintet: ${withoutPassword(line)}`)
  if (error instanceof WrongUsage) console.error(USAGE)
  process.exitCode = error instanceof WrongUsage ? 2 : 1
}

/** An error of several addresses that were tried has its reasons inside. */
function messageOf(error: unknown): string {
  const { message, code, errors = [] } = error as Error & { code?: string; errors?: Error[] }
  return message || errors[0]?.message || code || String(error)
}
