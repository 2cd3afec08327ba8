import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { fromTemporaryCredentials } from '@aws-sdk/credential-providers'
import type { Config } from '../config.js'
import { createDynamo, type Dynamo, type Observer } from './client.js'
import type { Engine } from './engine/index.js'
import { assertCanAsk, reasonOf } from './explain.js'
import { engineExchange, fastSend } from './fast-client.js'
import { createTable, tableDifferences } from './schema.js'
import { type Domain, tablesOf } from './tables.js'

/** Where the data is, opened. */
export interface Database {
  /** The way to a domain's tables. */
  dynamo(domain: Domain): Dynamo
  /** The embedded engine, if the data is in this process. */
  engine?: Engine
  /** What keeps the enabled domains' tables from being the declared ones. */
  differences(): Promise<string[]>
  close(): Promise<void>
}

const SWEEP_MS = 1000
const LOCAL = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }
/** Slow answers are tried again rather than waited for; DynamoDB's own are a few milliseconds away. */
const LIMITS = {
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true }
}

/** Opens what `DYNAMODB` names. Tables are created only in the embedded engine. */
export async function openDatabase(config: Config, observe: Observer, now = Date.now): Promise<Database> {
  const { dynamodb } = config
  const engine = dynamodb.kind === 'embedded' ? await openEmbedded(dynamodb.folder, now) : undefined
  const closers: (() => unknown)[] = []
  const open = async (settings: DynamoDBClientConfig): Promise<Dynamo> => {
    const client = new DynamoDBClient(settings)
    closers.push(() => client.destroy())
    if (config.dynamodbClient === 'sdk') return createDynamo(client, observe)
    if (engine) return createDynamo(client, observe, fastSend(client, engineExchange(engine)))
    const { httpExchange } = await import('./fast-http.js')
    const { exchange, close } = httpExchange(client, LIMITS.requestHandler)
    closers.push(close)
    return createDynamo(client, observe, fastSend(client, exchange))
  }
  const shared = await open(engine ? embedded(engine) : remote(config))
  const projects = config.projects.assumeRoleArn ? await open(assumed(config)) : shared
  const dynamo = (domain: Domain) => (domain === 'projects' ? projects : shared)
  const tables = tablesOf(config.domains).map(([id, definition]) => ({
    name: config.tables[id],
    definition,
    client: dynamo(definition.domain).client
  }))

  if (dynamodb.kind !== 'embedded') await assertCanAsk(shared.client, dynamodb.kind === 'aws' ? 'aws' : dynamodb.url)
  if (engine) {
    for (const { name, definition, client } of tables) await createTable(client, name, definition)
    engine.startSweeper(SWEEP_MS)
  }
  return {
    dynamo,
    engine,
    async differences() {
      const place = dynamodb.kind === 'aws' ? ` in ${await shared.client.config.region()}` : ''
      const differencesOf = async ({ name, definition, client }: (typeof tables)[number]) => {
        try {
          const found = await tableDifferences(client, name, definition)
          return found.map(line => line.replace(/ does not exist$/, `$&${place}`))
        } catch (error) {
          return [`table ${name} cannot be asked: ${reasonOf(error) ?? (error as Error).name}`]
        }
      }
      return (await Promise.all(tables.map(differencesOf))).flat()
    },
    async close() {
      await Promise.all(closers.map(close => close()))
      await engine?.close()
    }
  }
}

/** Loaded only where it is used: on AWS it is neither needed nor in the bundle. */
async function openEmbedded(path: string | undefined, now: () => number): Promise<Engine> {
  const { openEngine } = await import('./engine/index.js')
  return openEngine({ path, now }).catch(error => {
    throw new Error(`EMBEDDED_DATA cannot be used: ${error.message}`, { cause: error })
  })
}

function embedded(engine: Engine): DynamoDBClientConfig {
  return { ...LOCAL, requestHandler: engine.requestHandler() }
}

/** On AWS the standard chain gives region and credentials; behind an endpoint it may have none, and needs none. */
function remote({ dynamodb }: Config): DynamoDBClientConfig {
  if (dynamodb.kind !== 'endpoint') return LIMITS
  return { ...LIMITS, endpoint: dynamodb.url, ...(dynamodb.anonymous ? LOCAL : {}) }
}

function assumed(config: Config): DynamoDBClientConfig {
  const { assumeRoleArn, stsEndpoint } = config.projects
  const { region, credentials, ...rest } = remote(config)
  return {
    ...rest,
    region,
    credentials: fromTemporaryCredentials({
      masterCredentials: credentials as never,
      params: { RoleArn: assumeRoleArn, RoleSessionName: 'cello-session' },
      clientConfig: { region, endpoint: stsEndpoint }
    })
  }
}
