import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.js'
import { type Config, InvalidConfig, readConfig } from './config.js'
import { openDatabase } from './dynamo/database.js'
import { logInTurns } from './plugins/logging.js'
import { createMetrics } from './plugins/metrics.js'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const leave = () => process.exit(0)

/** Reads the configuration, starts, and stops gracefully. */
async function start(config: Config): Promise<void> {
  // Process 1 of a container does not hear a signal that it does not handle. Until there is something to close, it just ends.
  for (const signal of SIGNALS) process.once(signal, leave)
  const metrics = createMetrics()
  const database = await openDatabase(config, metrics.observe)
  const logger = {
    level: config.logLevel,
    stream: process.stdout.isTTY ? (await import('pino-pretty')).default({ ignore: 'pid,hostname' }) : logInTurns()
  }
  const app = await buildApp({ config, database, metrics, logger })
  const { dynamodb } = config
  const endpoint =
    database.engine && dynamodb.kind === 'embedded' && dynamodb.port !== undefined
      ? await database.engine.listen(dynamodb.port).catch(refused('EMBEDDED_PORT'))
      : undefined

  closeWithGrace({ delay: 20_000 }, async ({ err, signal }) => {
    if (err) app.log.error({ err }, 'stopping after an error')
    else app.log.info(`${signal}: finishing what is under way`)
    await app.close()
    await endpoint?.close()
    await database.close()
  })
  for (const signal of SIGNALS) process.off(signal, leave)

  const address = await app.listen({ host: config.host, port: config.port }).catch(refused('PORT'))
  for (const line of [
    `API   ${address}/v1`,
    `Docs  ${address}/docs`,
    dataLine(config),
    endpointLine(config, endpoint?.url)
  ]) {
    app.log.info(line)
  }
  for (const difference of await database.differences().catch(error => [String(error)])) app.log.error(difference)
}

/** Names the variable that says where it could not listen; a host that is not ours is none of its port's fault. */
const refused = (port: string) => (error: NodeJS.ErrnoException) => {
  const variable = error.code === 'EADDRINUSE' || error.code === 'EACCES' ? port : 'HOST'
  throw new Error(`${variable} cannot be used: ${error.message}`, { cause: error })
}

function dataLine({ dynamodb }: Config): string {
  if (dynamodb.kind === 'aws') return 'Data  DynamoDB on AWS'
  if (dynamodb.kind === 'endpoint') return `Data  DynamoDB at ${dynamodb.url}`
  return dynamodb.folder ? `Data  the folder ${dynamodb.folder}` : 'Data  in memory, gone when the server stops'
}

function endpointLine({ dynamodb }: Config, url?: string): string {
  if (dynamodb.kind !== 'embedded') return 'Tables are taken as they are; see quintet tables check'
  return url
    ? `DynamoDB endpoint for AWS clients  ${url}`
    : 'Set EMBEDDED_PORT=8000 to open the embedded DynamoDB to AWS clients'
}

try {
  await start(readConfig(process.env))
} catch (error) {
  const lines = error instanceof InvalidConfig ? error.lines : [(error as Error).message]
  for (const line of lines) console.error(`quintet: ${line}`)
  process.exit(1)
}
