import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'
import { openEngine } from '../src/dynamo/engine/index.js'
import { createTable } from '../src/dynamo/schema.js'
import { tables } from '../src/dynamo/tables.js'
import type { Test } from './helpers.js'

const ROLE = 'arn:aws:iam::123456789012:role/cello-data'

async function listen(t: Test, answer: (request: IncomingMessage, body: string) => Promise<[number, string, string]>) {
  const server: Server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const [status, type, text] = await answer(request, body)
    response.writeHead(status, { 'content-type': type }).end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** STS as far as AssumeRole goes: it gives credentials that end so soon that the client renews them before each use. */
async function startSts(t: Test, lifeSeconds: number) {
  const asked: URLSearchParams[] = []
  /** When each session ends. */
  const ends = new Map<string, number>()
  const url = await listen(t, async (_request, body) => {
    asked.push(new URLSearchParams(body))
    const expiration = new Date(Date.now() + lifeSeconds * 1000).toISOString()
    ends.set(`session-${asked.length}`, Date.parse(expiration))
    return [
      200,
      'text/xml',
      `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
       <AccessKeyId>ASSUMED${asked.length}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>
       <SessionToken>session-${asked.length}</SessionToken><Expiration>${expiration}</Expiration>
       </Credentials><AssumedRoleUser><Arn>x</Arn><AssumedRoleId>y</AssumedRoleId></AssumedRoleUser></AssumeRoleResult></AssumeRoleResponse>`
    ]
  })
  return { url, asked, ends }
}

/** The embedded engine behind HTTP, telling with which credentials each table was reached. */
async function startDynamo(t: Test) {
  const engine = await openEngine()
  t.teardown(() => engine.close())
  const reached: { table: string; key: string; session?: string; at: number }[] = []
  const url = await listen(t, async (request, body) => {
    const key = /Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const session = request.headers['x-amz-security-token'] as string | undefined
    reached.push({ table: JSON.parse(body).TableName, key, session, at: Date.now() })
    const answer = await engine.handle(request.headers['x-amz-target'] as string, body)
    return [answer.status, 'application/x-amz-json-1.0', answer.body]
  })
  return { url, reached }
}

t.test('the projects table, and it alone, is reached with the role; its credentials are renewed', async t => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'BASE', AWS_SECRET_ACCESS_KEY: 'base', AWS_REGION: 'eu-west-1' })
  // Soon for the client, which renews minutes before the end, and not for a machine that stalls.
  const sts = await startSts(t, 60)
  const dynamo = await startDynamo(t)
  const config = readConfig({
    DYNAMODB: dynamo.url,
    DOMAINS: 'projects,realtime',
    CELLO_DYNAMODB_ASSUME_ROLE_ARN: ROLE,
    AWS_ENDPOINT_URL_STS: sts.url,
    AWS_ACCESS_KEY_ID: 'BASE'
  })
  const database = await openDatabase(config, () => {})
  t.teardown(() => database.close())
  await createTable(database.dynamo('projects').client, 'cello', tables.projects)
  await createTable(database.dynamo('realtime').client, 'compose', tables.realtime)
  const readBoth = () =>
    Promise.all([
      database.dynamo('projects').request('GetItem', { TableName: 'cello', Key: { pk: 'x', sk: 'x' } }),
      database.dynamo('realtime').request('GetItem', { TableName: 'compose', Key: { pk: 'x', sk: 'x' } })
    ])
  await readBoth()
  const first = sts.asked.length
  await readBoth()

  t.ok(sts.asked.length > first, 'credentials that end soon are renewed')
  for (const asked of sts.asked) {
    t.match(Object.fromEntries(asked), { Action: 'AssumeRole', RoleArn: ROLE, RoleSessionName: 'cello-session' })
  }
  const of = (table: string) => dynamo.reached.filter(request => request.table === table)
  t.ok(of('cello').every(({ key, session }) => key.startsWith('ASSUMED') && session?.startsWith('session-')))
  t.ok(of('compose').every(({ key, session }) => key === 'BASE' && session === undefined))
  t.ok(
    of('cello').every(({ session, at }) => at < (sts.ends.get(session ?? '') ?? 0)),
    'no request carries what has ended'
  )
  t.equal(of('cello').at(-1)?.key, `ASSUMED${sts.asked.length}`)
})
