import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import type { Test } from './helpers.js'

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const CLI = fileURLToPath(new URL('../src/cli.js', import.meta.url))
const repository = 'https://github.com/example/p'

interface Running {
  child: ChildProcess
  url: string
  output: () => string
}

/** A server in a process of its own, on a port that is free. */
async function run(t: Test, env: Record<string, string>): Promise<Running> {
  const { PATH, DYNAMODB_CLIENT } = process.env
  const child = spawn(process.execPath, [SERVER], { env: { PATH, PORT: '0', DYNAMODB_CLIENT, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  let text = ''
  child.stdout.on('data', chunk => {
    text += chunk
  })
  child.stderr.on('data', chunk => {
    text += chunk
  })
  const exited = once(child, 'exit')
  while (!/API +(http\S+)\/v1/.test(text) || !/Docs/.test(text)) {
    const ended = await Promise.race([exited.then(() => true), new Promise(resolve => setTimeout(resolve, 20, false))])
    if (ended) throw new Error(`the server ended: ${text}`)
  }
  return { child, url: /API +(http\S+)\/v1/.exec(text)?.[1] as string, output: () => text }
}

const post = (url: string, body: unknown) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'quintet-server-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

t.test('starts, serves, stops on SIGTERM with 0, and finds its data again', async t => {
  const data = await folder(t)
  const first = await run(t, { EMBEDDED_DATA: data, EMBEDDED_PORT: '0' })
  t.match(first.output(), /Data +the folder/)
  const endpoint = /AWS clients +(http:\/\/127\.0\.0\.1:\d+)/.exec(first.output())?.[1]
  const aws = new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'x', secretAccessKey: 'x' }
  })
  const { TableNames } = await aws.send(new ListTablesCommand({}))
  t.strictSame(TableNames?.sort(), ['AliasTable', 'DeploymentTable', 'cello', 'compose', 'layers', 'tenants'])
  aws.destroy()
  t.equal((await post(`${first.url}/v1/projects`, { name: 'kept', repository })).status, 201)
  t.equal((await fetch(`${first.url}/readyz`)).status, 200)
  first.child.kill('SIGTERM')
  t.strictSame(await once(first.child, 'exit'), [0, null], first.output())

  const second = await run(t, { EMBEDDED_DATA: data })
  t.equal((await fetch(`${second.url}/v1/projects/kept`)).status, 200)
  const rival = spawn(process.execPath, [SERVER], { env: { PATH: process.env.PATH, PORT: '0', EMBEDDED_DATA: data } })
  let said = ''
  rival.stderr.on('data', chunk => {
    said += chunk
  })
  t.strictSame(await once(rival, 'exit'), [1, null])
  t.match(said, /^quintet: EMBEDDED_DATA cannot be used: .*in use/m, 'a second server on the folder is refused')
})

t.test('where it cannot listen is said with the variable', async t => {
  const { url } = await run(t, { EMBEDDED_DATA: 'memory', DOMAINS: 'projects' })
  const taken = new URL(url).port
  for (const [env, line] of [
    [{ PORT: taken }, /^quintet: PORT cannot be used: .*in use/m],
    [{ EMBEDDED_PORT: taken }, /^quintet: EMBEDDED_PORT cannot be used: .*in use/m],
    [{ HOST: '192.0.2.1', ADMIN_TOKEN: 'x' }, /^quintet: HOST cannot be used: /m]
  ] as const) {
    const more = { PATH: process.env.PATH, PORT: '0', EMBEDDED_DATA: 'memory', DOMAINS: 'projects', ...env }
    const child = spawn(process.execPath, [SERVER], { env: more })
    const said = text(child.stderr)
    t.strictSame(await once(child, 'exit'), [1, null])
    t.match(await said, line)
  }
})

t.test('a folder that cannot be one is refused by name', async t => {
  const file = join(await folder(t), 'file')
  await writeFile(file, '')
  const child = spawn(process.execPath, [SERVER], { env: { PATH: process.env.PATH, PORT: '0', EMBEDDED_DATA: file } })
  const said = text(child.stderr)
  t.strictSame(await once(child, 'exit'), [1, null])
  t.match(await said, `quintet: EMBEDDED_DATA cannot be used: The folder ${file} cannot be opened: `)
})

t.test('an acknowledged write survives kill -9', async t => {
  const data = await folder(t)
  const { child, url } = await run(t, { EMBEDDED_DATA: data, DOMAINS: 'projects' })
  const acknowledged: string[] = []
  const writers = Array.from({ length: 8 }, async (_, w) => {
    for (let i = 0; ; i++) {
      const name = `w${w}x${String(i).padStart(4, '0')}`
      const res = await post(`${url}/v1/projects`, { name, repository }).catch(() => undefined)
      if (res?.status !== 201) return
      if (acknowledged.push(name) === 100) child.kill('SIGKILL')
    }
  })
  await Promise.all(writers)
  const again = await run(t, { EMBEDDED_DATA: data, DOMAINS: 'projects' })
  t.ok(acknowledged.length >= 100, `${acknowledged.length} writes were acknowledged`)
  const missing = []
  for (const name of acknowledged)
    if ((await fetch(`${again.url}/v1/projects/${name}`)).status !== 200) missing.push(name)
  t.strictSame(missing, [])
})

t.test('a request under way is finished when the server stops', async t => {
  // At this level a request is told of when it comes.
  const { child, url, output } = await run(t, { EMBEDDED_DATA: 'memory', DOMAINS: 'projects', LOG_LEVEL: 'debug' })
  await post(`${url}/v1/projects`, { name: 'doomed', repository })
  const targets = Array.from({ length: 200 }, (_, i) =>
    fetch(`${url}/v1/projects/doomed/targets/t${i + 100}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'x', properties: {} })
    })
  )
  await Promise.all(targets)
  const deletion = fetch(`${url}/v1/projects/doomed`, { method: 'DELETE' })
  while (!output().includes('"method":"DELETE"')) await new Promise(resolve => setTimeout(resolve, 1))
  child.kill('SIGTERM')
  t.equal((await deletion).status, 204)
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('a bad configuration is refused with a line a problem', async t => {
  const child = spawn(process.execPath, [SERVER], {
    env: { PATH: process.env.PATH, PORT: 'x', DOMAINS: 'y', HOST: '0.0.0.0' }
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said += chunk
  })
  t.strictSame(await once(child, 'exit'), [1, null])
  const lines = said.split('\n').filter(line => line.startsWith('quintet: '))
  t.match(lines, [/DOMAINS/, /PORT/, /ADMIN_TOKEN/])
})

t.test('quintet tables create and check, on any endpoint', async t => {
  const { output } = await run(t, { EMBEDDED_DATA: 'memory', EMBEDDED_PORT: '0', DOMAINS: 'projects' })
  const endpoint = /AWS clients +(http:\/\/127\.0\.0\.1:\d+)/.exec(output())?.[1] as string
  const quintet = async (...words: string[]) => {
    const env = {
      PATH: process.env.PATH,
      DYNAMODB: endpoint,
      DOMAINS: 'realtime,projects',
      PROJECTS_TABLE: 'my-projects'
    }
    const child = spawn(process.execPath, [CLI, ...words], { env })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', chunk => {
        text += chunk
      })
    }
    const [code] = await once(child, 'close')
    return { code, text }
  }
  const before = await quintet('tables', 'check')
  t.equal(before.code, 1)
  t.match(before.text, 'table my-projects does not exist')
  t.match(await quintet('tables', 'create'), { code: 0, text: /table compose was created/ })
  t.match(await quintet('tables', 'check'), { code: 0, text: /table my-projects is as declared/ })
  t.match(await quintet('nonsense'), { code: 2, text: /Usage/ })
})
