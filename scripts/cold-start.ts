import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'
import { domains } from '../src/dynamo/tables.js'

/**
 * Measures the start of the API function, with one domain and with all: a new Node process loads the handler and answers
 * one request, which reads one item from an engine outside of it. `npm run bundle` first; a number of starts may be given.
 */
const starts = Number(process.argv[2] ?? 10)
const database = await openDatabase(readConfig({ EMBEDDED_DATA: 'memory' }), () => {})
const endpoint = await database.engine?.listen(0)

const event = {
  version: '2.0',
  rawPath: '/v1/projects/nosuch1',
  rawQueryString: '',
  headers: { authorization: 'Bearer cold-start' },
  requestContext: { http: { method: 'GET', path: '/v1/projects/nosuch1' } },
  isBase64Encoded: false
}
const code = (handler: string) => `
  const begun = performance.now()
  const { handler } = await import(${JSON.stringify(handler)})
  const loaded = performance.now()
  const { statusCode } = await handler(${JSON.stringify(event)}, {})
  console.log(JSON.stringify({ statusCode, load: loaded - begun, first: performance.now() - loaded, all: performance.now(), cpu: (({ user, system }) => (user + system) / 1000)(process.cpuUsage()) }))
  process.exit(0)`

interface Start {
  statusCode: number
  load: number
  first: number
  all: number
  /** Processor time, which other work on the machine does not lengthen much. */
  cpu: number
}

const machine = (name: string) => `arn:aws:states:eu-west-1:123456789012:stateMachine:${name}`
const TENANTS = {
  AWS_REGION: 'eu-west-1',
  TENANT_STACK_VERSION: '1.0.0',
  PROVISION_STATE_MACHINE_ARN: machine('provision'),
  UPDATE_STATE_MACHINE_ARN: machine('update'),
  DELETE_STATE_MACHINE_ARN: machine('delete')
}

async function start(handler: string, DOMAINS: string): Promise<Start> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code(handler)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      LOG_LEVEL: 'silent',
      DOMAINS,
      ...TENANTS,
      ADMIN_TOKEN: 'cold-start',
      DYNAMODB: endpoint?.url
    }
  })
  return JSON.parse(await text(child.stdout))
}

const median = (numbers: number[]) => Math.round([...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN)
for (const [file, chosen] of [
  ['../lambda/api.mjs', 'projects'],
  ['../lambda/api.mjs', domains.join()],
  ['../src/lambda/api.js', domains.join()]
] as const) {
  const runs: Start[] = []
  for (let i = 0; i < starts; i++) runs.push(await start(new URL(file, import.meta.url).href, chosen))
  const of = (name: 'load' | 'first' | 'all' | 'cpu') => median(runs.map(run => run[name]))
  const shown = fileURLToPath(new URL(file, import.meta.url)).split('/dist/')[1]
  console.log(
    `${shown} (${chosen}): answered ${runs[0]?.statusCode}; median of ${starts}: load ${of('load')} ms, first answer ${of('first')} ms, process to answer ${of('all')} ms, processor ${of('cpu')} ms`
  )
}
await endpoint?.close()
await database.close()
