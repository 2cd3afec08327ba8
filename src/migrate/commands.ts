import type { Config } from '../config.js'
import { openDatabase } from '../dynamo/database.js'
import { explain } from '../dynamo/explain.js'
import { projectEntities } from '../entities/projects.js'
import { connect, type Password, type Postgres } from '../postgres/client.js'
import { urlProblem } from '../postgres/url.js'
import { Problem } from '../problems.js'
import { projectCopies } from '../services/project-copies.js'
import { projectLookups } from '../services/project-lookups.js'
import { parseWords, WrongUsage } from '../usage.js'
import { dump } from './dump.js'
import { load } from './load.js'
import { createOutput } from './output.js'
import { passwordFrom } from './prompt.js'
import { status } from './status.js'
import { verify } from './verify.js'

export const MIGRATE_USAGE = `  quintet migrate dump [--from <postgres url>] --to <file>     PostgreSQL to a file, one consistent view
  quintet migrate load <file> [--overwrite]                    the file to DynamoDB; may be killed and repeated
  quintet migrate verify [--from <postgres url>]               lists every difference; exit code 1 if there is any
  quintet migrate status [--url <server>]... [--since <time>]  asks running servers whether cut-over is safe; 1 if not

Without --from, PROJECTS_POSTGRES_URL names the database. A password is better in PGPASSWORD, or typed when asked for,
than in a URL on the command line, where others on the machine can see it for a moment.`

interface Context {
  env: Record<string, string | undefined>
  config: Config
}

type Command = (words: string[], context: Context) => Promise<number>

const output = () => createOutput(process.stdout, Date.now)

export const migrateCommands: Record<string, Command> = {
  async dump(words, context) {
    const { values } = parseWords(words, { from: { type: 'string' }, to: { type: 'string' } })
    if (!values.to) throw new WrongUsage('--to <file> is missing')
    const to = values.to
    return withPostgres(urlOf(values.from, context), passwordFrom(context.env), client =>
      dump(client, to, Date.now, output())
    )
  },

  async load(words, context) {
    const { values, positionals } = parseWords(words, { overwrite: { type: 'boolean' } }, true)
    const [path, ...more] = positionals
    if (path === undefined || more.length) throw new WrongUsage('one file is needed')
    return withTable(context.config, (_dynamo, entities) =>
      load(path, projectCopies(entities), { overwrite: values.overwrite ?? false }, output())
    )
  },

  async verify(words, context) {
    const { values } = parseWords(words, { from: { type: 'string' } })
    const url = urlOf(values.from, context)
    const password = passwordFrom(context.env)
    return withPostgres(url, password, snapshot =>
      withPostgres(url, password, postgres =>
        withTable(context.config, (dynamo, entities) =>
          verify({ snapshot, postgres, dynamo: projectLookups(dynamo, entities) }, output())
        )
      )
    )
  },

  async status(words, { config }) {
    const { values } = parseWords(words, { url: { type: 'string', multiple: true }, since: { type: 'string' } })
    const since = values.since === undefined ? undefined : Date.parse(values.since)
    if (Number.isNaN(since)) throw new WrongUsage('--since must be a time such as 2026-01-31T12:00:00Z')
    for (const url of values.url ?? [])
      if (!isServer(url)) throw new WrongUsage('--url must be such as http://node1:3000')
    return status(values.url ?? [`http://127.0.0.1:${config.port}`], since, output())
  }
}

function urlOf(given: string | undefined, { config }: Context): string {
  // The words of a process are there for all to see until it takes another title.
  if (given !== undefined) process.title = 'quintet migrate'
  const url = given ?? config.projects.postgresUrl
  if (url === undefined) throw new WrongUsage('--from <postgres url> is missing, and PROJECTS_POSTGRES_URL is not set')
  const problem = urlProblem(url)
  if (problem) throw new WrongUsage(`${given === undefined ? 'PROJECTS_POSTGRES_URL' : '--from'} ${problem}`)
  return url
}

/** A connection that is left open would keep the process. */
async function withPostgres(url: string, password: Password, work: (client: Postgres) => Promise<number>) {
  const client = await connect(url, password)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

type Work = (
  dynamo: Parameters<typeof projectEntities>[0],
  entities: ReturnType<typeof projectEntities>
) => Promise<number>

async function withTable(config: Config, work: Work): Promise<number> {
  const database = await openDatabase({ ...config, domains: ['projects'] }, () => {})
  try {
    const dynamo = database.dynamo('projects')
    return await work(dynamo, projectEntities(dynamo, config.tables.projects))
  } catch (error) {
    throw explained(error, config.tables.projects)
  } finally {
    await database.close()
  }
}

/** What DynamoDB says of a missing table, or of nothing at all, helps nobody. */
function explained(error: unknown, table: string): unknown {
  const { name, message, cause } = error as Error
  if (name === 'ResourceNotFoundException')
    return new Error(`there is no table ${table}; quintet tables create makes it`)
  const isAway = error instanceof Problem && error.code === 'database-unavailable' && cause !== undefined
  return isAway ? new Error(`${message}: ${explain(cause)}`, { cause }) : error
}

/** Without credentials, which would be shown with it; `/metrics` needs none. */
const isServer = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && !/@/.test(url)
