import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'
import { listen } from '../src/dynamo/engine/http.js'
import { openEngine } from '../src/dynamo/engine/index.js'
import { explain } from '../src/dynamo/explain.js'
import { createTable } from '../src/dynamo/schema.js'
import { tables } from '../src/dynamo/tables.js'
import { connect } from './engine-helpers.js'
import type { Test } from './helpers.js'

const path = (file: string) => fileURLToPath(new URL(`../src/${file}`, import.meta.url))
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' }

/** A process of Quintet with nothing in its environment but what a test gives it. */
function run(t: Test, words: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, words, {
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      PORT: '0',
      DYNAMODB: 'aws',
      DOMAINS: 'projects',
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      ...env
    }
  })
  t.teardown(() => child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      text += chunk
    })
  }
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(text)
      if (found) return found
      if (child.exitCode !== null) throw new Error(`it ended: ${text}`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  return { child, until, output: () => text }
}

/** Stands in for DynamoDB: gives every request the answer that AWS gives in such a case. */
async function standIn(t: Test, type: string, message = 'no') {
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers['x-amz-target'] as string | undefined)
    response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' })
    response.end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

t.jobs = 2

for (const [what, env, line] of [
  ['no region', CREDENTIALS, /^quintet: DYNAMODB=aws cannot be used: no region is set: set AWS_REGION$/],
  [
    'no credentials',
    { AWS_REGION: 'eu-west-1' },
    /^quintet: DYNAMODB=aws cannot be used: no AWS credentials were found: set AWS_PROFILE, or .+$/
  ]
] as const) {
  t.test(`${what}: refused with one line`, async t => {
    const { child, output } = run(t, [path('server.js')], env)
    const [code] = await once(child, 'close')
    t.equal(code, 1)
    const lines = output().trim().split('\n')
    t.match(lines, [line])
    t.equal(lines.length, 1, output())
  })
}

t.test('told to stop while it waits for credentials, it stops', async t => {
  const endpoint = createServer().listen(0, '127.0.0.1')
  await once(endpoint, 'listening')
  t.teardown(() => endpoint.close())
  const { port } = endpoint.address() as AddressInfo
  const env = { AWS_REGION: 'eu-west-1', AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${port}/` }
  const { child, output } = run(t, [path('server.js')], env)
  await once(endpoint, 'request')
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null], output())
})

const NOT_ALLOWED =
  'table cello cannot be asked: the credentials do not allow it: attach what quintet tables policy prints (AccessDeniedException)'

t.test('no permission: up, but not ready, and said in one line', async t => {
  const { url, asked } = await standIn(t, 'AccessDeniedException', 'User: arn:aws:iam::123456789012:user/me may not')
  const env = { ...CREDENTIALS, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_DYNAMODB: url }
  const { child, until, output } = run(t, [path('server.js')], env)
  const [, address] = await until(/API +(http\S+)\/v1/)
  await until(/table cello [^"]+/)
  t.ok(output().includes(`"msg":"${NOT_ALLOWED}"`), output())
  t.strictSame(new Set(asked), new Set(['DynamoDB_20120810.DescribeTable']))
  const ready = await fetch(`${address}/readyz`)
  t.equal(ready.status, 503)
  t.strictSame(await ready.json(), { status: 'unready', differences: [NOT_ALLOWED] })
  t.equal((await fetch(`${address}/healthz`)).status, 200)
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('what else AWS may say at start', async t => {
  Object.assign(process.env, CREDENTIALS, { AWS_REGION: 'eu-west-1' })
  for (const [type, line] of [
    ['AccessDeniedException', NOT_ALLOWED],
    ['ResourceNotFoundException', 'table cello does not exist in eu-west-1'],
    [
      'UnrecognizedClientException',
      'table cello cannot be asked: the credentials are not valid (UnrecognizedClientException)'
    ],
    ['ExpiredTokenException', 'table cello cannot be asked: the credentials have expired (ExpiredTokenException)'],
    ['ValidationException', 'table cello cannot be asked: ValidationException']
  ] as const) {
    const { url } = await standIn(t, type, 'arn:aws:iam::123456789012:user/me')
    process.env.AWS_ENDPOINT_URL_DYNAMODB = url
    const database = await openDatabase(readConfig({ DYNAMODB: 'aws', DOMAINS: 'projects' }), () => {})
    t.strictSame(await database.differences(), [line])
    await database.close()
  }
})

t.test('a region that there is not', async t => {
  const error = Object.assign(new Error('getaddrinfo'), {
    code: 'ENOTFOUND',
    hostname: 'dynamodb.eu-west-9.amazonaws.com'
  })
  t.equal(explain(error), 'there is no host dynamodb.eu-west-9.amazonaws.com: is AWS_REGION right? (ENOTFOUND)')
})

t.test('an endpoint that nobody listens on: up, but not ready', async t => {
  const { child, until } = run(t, [path('server.js')], { DYNAMODB: 'http://127.0.0.1:1' })
  await until(/table cello cannot be asked: it cannot be reached \(ECONNREFUSED\)/)
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('what the server’s policy does not allow, quintet tables names', async t => {
  const { url } = await standIn(t, 'AccessDeniedException', 'may not')
  const env = { ...CREDENTIALS, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_DYNAMODB: url, DOMAINS: 'layers' }
  const create = run(t, [path('cli.js'), 'tables', 'create'], env)
  t.strictSame(await once(create.child, 'close'), [1, null])
  t.match(create.output(), /^quintet: table layers cannot be created: that takes dynamodb:CreateTable, .+\n$/)

  const engine = await openEngine()
  t.teardown(() => engine.close())
  await createTable(connect(engine), 'layers', tables.layers)
  const guarded = await listen(async (target, body) => {
    if (!target?.endsWith('DescribeTimeToLive')) return engine.handle(target, body)
    return { status: 400, body: JSON.stringify({ __type: 'com.amazon.coral.service#AccessDeniedException' }) }
  }, 0)
  t.teardown(() => guarded.close())
  const check = run(t, [path('cli.js'), 'tables', 'check'], { ...env, AWS_ENDPOINT_URL_DYNAMODB: guarded.url })
  t.strictSame(await once(check.child, 'close'), [0, null], 'the table can be served')
  t.match(check.output(), /^table layers may not be asked how items expire: that takes dynamodb:DescribeTimeToLive\n$/)
})

t.test('quintet tables check says the same', async t => {
  const unreachable = run(t, [path('cli.js'), 'tables', 'check'], { DYNAMODB: 'http://127.0.0.1:1' })
  t.strictSame(await once(unreachable.child, 'close'), [1, null])
  t.equal(unreachable.output(), 'quintet: it cannot be reached (ECONNREFUSED)\n')
  const nowhere = run(t, [path('cli.js'), 'tables', 'check'], CREDENTIALS)
  t.strictSame(await once(nowhere.child, 'close'), [1, null])
  t.equal(nowhere.output(), 'quintet: DYNAMODB=aws cannot be used: no region is set: set AWS_REGION\n')
})
