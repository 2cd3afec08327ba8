import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openEngine } from '../src/dynamo/engine/index.js'
import { createTable } from '../src/dynamo/schema.js'
import { tables } from '../src/dynamo/tables.js'
import { connect } from './engine-helpers.js'

const path = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url))

/** Runs code in a process of its own, as Lambda would with the bundle and these variables. */
async function invoke(events: object[], env: Record<string, string | undefined>) {
  const code = `
    const { handler } = await import(${JSON.stringify(new URL('../lambda/api.mjs', import.meta.url).href)})
    for (const event of ${JSON.stringify(events)}) console.log(JSON.stringify(await handler(event, {})))
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'silent', DOMAINS: 'projects', ...env }
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const answers = stdout.split('\n').filter(Boolean)
  return { answers: answers.map(line => JSON.parse(line)), stderr }
}

/** What API Gateway's HTTP API and a function URL send, payload format 2.0. */
const request = (method: string, rawPath: string, more: object = {}) => ({
  version: '2.0',
  rawPath,
  rawQueryString: '',
  headers: { authorization: 'Bearer admin-secret', 'content-type': 'application/json' },
  requestContext: { http: { method, path: rawPath, sourceIp: '192.0.2.1' } },
  isBase64Encoded: false,
  ...more
})

t.before(() => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path('scripts/bundle.js')], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  t.comment(stdout)
})

t.test('the bundle has neither the embedded engine nor the files of Swagger UI in it', async t => {
  const bundle = readFileSync(path('lambda/api.mjs'), 'utf8')
  t.notMatch(bundle, /dynalite|classic-level|SwaggerUIBundle/)
  t.ok(bundle.length < 4 * 1024 * 1024, `${bundle.length} bytes`)
})

t.test('the API answers on Lambda as elsewhere', async t => {
  const engine = await openEngine()
  t.teardown(() => engine.close())
  await createTable(connect(engine), 'cello', tables.projects)
  const { url } = await engine.listen(0)
  const body = JSON.stringify({ name: 'lambda1', repository: 'https://github.com/example/p' })
  const coded = { body: Buffer.from(body.replace('lambda1', 'lambda2')).toString('base64'), isBase64Encoded: true }
  const { answers } = await invoke(
    [
      request('POST', '/v1/projects', { body }),
      request('POST', '/v1/projects', coded),
      request('GET', '/v1/projects/lambda1'),
      request('GET', '/v1/projects/lambda2', { headers: {} }),
      request('GET', '/v1/projects/lambda1/tokens', {
        rawQueryString: 'limit=1&limit=2',
        queryStringParameters: { limit: '1,2' }
      }),
      request('GET', '/v1/projects/lambda1/tokens', {
        rawQueryString: 'limit=7',
        queryStringParameters: { limit: '7' }
      }),
      request('GET', '/docs', { headers: {} }),
      request('GET', '/openapi.json', { headers: {} }),
      request('GET', '/readyz', { headers: {} })
    ],
    { DYNAMODB: url, ADMIN_TOKEN: 'admin-secret' }
  )
  const [made, decoded, found, closed, twice, once, page, document, ready] = answers
  t.match(made, { statusCode: 201, headers: { location: '/v1/projects/lambda1' } })
  t.match(decoded, { statusCode: 201 }, 'a body in base64 is decoded')
  t.match(found, { statusCode: 200, headers: { etag: String, 'x-request-id': String } })
  t.strictSame(JSON.parse(found.body).name, 'lambda1')
  t.match(closed, { statusCode: 401, headers: { 'content-type': 'application/problem+json' } })
  t.match(JSON.parse(twice.body), { code: 'invalid-request' }, 'the query string is as it was sent')
  t.match(once, { statusCode: 200 })
  t.match(page, { statusCode: 404 }, 'the page of the documentation is not on Lambda')
  t.match(JSON.parse(document.body), { openapi: '3.1.0' })
  t.match(ready, { statusCode: 200 })
})

t.test('states are kept on Lambda, but nothing waits for them there', async t => {
  const engine = await openEngine()
  t.teardown(() => engine.close())
  await createTable(connect(engine), 'compose', tables.realtime)
  const { url } = await engine.listen(0)
  const value = JSON.stringify({ value: 42 })
  const { answers } = await invoke(
    [
      request('PUT', '/v1/states/demo', { body: value }),
      request('GET', '/v1/states/demo'),
      ...['/v1/states/demo/events', '/v1/live', '/live', '/live/live.js'].map(path => request('GET', path))
    ],
    { DYNAMODB: url, ADMIN_TOKEN: 'admin-secret', DOMAINS: 'realtime' }
  )
  t.strictSame(
    answers.map(answer => answer.statusCode),
    [201, 200, 404, 404, 404, 404]
  )
  t.match(JSON.parse(answers[1].body), { name: 'demo', value: 42, version: 1 })
})

t.test('a path that an HTTP API has decoded names what the caller named', async t => {
  const engine = await openEngine()
  t.teardown(() => engine.close())
  await createTable(connect(engine), 'compose', tables.realtime)
  const { url } = await engine.listen(0)
  const { answers } = await invoke(
    [
      ...['demo', '50 % ü?'].map(name =>
        request('PUT', `/v1/states/${name}`, { body: JSON.stringify({ value: name }) })
      ),
      ...['50 % ü?', '50%20%25%20%C3%BC%3f', 'demo#x', 'de\tmo', 'demo\ud800', '%00'].map(name =>
        request('GET', `/v1/states/${name}`)
      )
    ],
    { DYNAMODB: url, ADMIN_TOKEN: 'admin-secret', DOMAINS: 'realtime' }
  )
  t.strictSame(
    answers.map(answer => answer.statusCode),
    [201, 201, 200, 200, 400, 400, 404, 400]
  )
  t.match(JSON.parse(answers[3].body), { name: '50 % ü?' }, 'one that is still encoded is taken as it is')
})

t.test('a function without an admin token, or with data of its own, is refused', async t => {
  t.match((await invoke([], { DYNAMODB: 'http://127.0.0.1:1' })).stderr, /ADMIN_TOKEN must be set/)
  t.match(
    (await invoke([], { DYNAMODB: 'embedded', ADMIN_TOKEN: 'x' })).stderr,
    /DYNAMODB must be aws or an endpoint URL/
  )
})
