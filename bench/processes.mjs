// Every part of a measurement is a process of its own; this starts them and talks to them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { ALIASES, tableOf } from './items.mjs'

const here = file => fileURLToPath(new URL(file, import.meta.url))
/** The options of Node with which `npm start` runs Quintet. */
const startOptions = JSON.parse(readFileSync(here('../package.json'), 'utf8'))
  .scripts.start.split(' ')
  .filter(word => word.startsWith('--'))
const folder = mkdtempSync(join(tmpdir(), 'quintet-bench-'))
const children = new Set()
let started = 0
export const ADMIN_TOKEN = 'bench-admin-token'

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

function start(name, file, words, env, nodeOptions = []) {
  const log = join(folder, `${name}-${started++}.log`)
  const fd = openSync(log, 'a')
  const child = spawn(process.execPath, ['--import', here('./cpu.mjs'), ...nodeOptions, file, ...words], {
    env: { PATH: process.env.PATH, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', ...env },
    stdio: ['ignore', fd, fd, 'ipc']
  })
  closeSync(fd)
  child.setMaxListeners(0)
  children.add(child)
  child.on('exit', code => {
    children.delete(child)
    if (code) console.error(`${name} ended with ${code}: ${readFileSync(log, 'utf8').slice(-2000)}`)
  })
  return { child, log: () => readFileSync(log, 'utf8') }
}

async function said(child) {
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error(`${child.spawnargs.at(-1)} ended`)
    })
  ])
  return message
}

/** Sends a message and waits for the answer. */
export async function ask(child, message) {
  const answer = said(child)
  child.send(message)
  return answer
}

export const stop = async child => {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** A database: `stand-in` or `dynalite`. */
export async function startDatabase(kind, variants, env = {}) {
  const { child } = start(kind, here(`./${kind}.mjs`), variants, env)
  const { port } = await said(child)
  return { child, endpoint: `http://127.0.0.1:${port}` }
}

/** The callers; a task sent before they listen would be lost. */
export async function startLoad() {
  const { child } = start('load', here('./load.mjs'), [], {})
  await said(child)
  return child
}

/** A competitor, or Quintet with everything on: validation, admin token, ETags, metrics, logs to a file. */
export async function startServer(variant, endpoint, env = {}, nodeOptions = []) {
  if (!variant.startsWith('quintet')) {
    const { child } = start(variant, here('./serve.mjs'), [variant, endpoint], env, nodeOptions)
    const { port } = await said(child)
    return { variant, child, origin: `http://127.0.0.1:${port}`, prefix: '', headers: {} }
  }
  const settings = {
    PORT: '0',
    DYNAMODB: endpoint,
    DOMAINS: 'projects,hosting',
    ALIAS_TABLE: ALIASES,
    PROJECTS_TABLE: tableOf('quintet'),
    ADMIN_TOKEN,
    LOG_LEVEL: 'info',
    DYNAMODB_CLIENT: variant === 'quintet-sdk' ? 'sdk' : 'fast',
    ...env
  }
  const { child, log } = start(variant, here('../dist/src/server.js'), [], settings, [...startOptions, ...nodeOptions])
  const address = () => /API +(http:\/\/[\d.:]+)\/v1/.exec(log())?.[1]
  while (!address()) {
    if (child.exitCode !== null) throw new Error(log())
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  return { variant, child, log, origin: address(), prefix: '/v1', headers }
}

/** A bulk deletion by other means, in a process of its own. */
export async function runBulk(way, endpoint) {
  const { child } = start(way, here('./bulk.mjs'), [way, endpoint], {})
  const result = await said(child)
  await stop(child)
  return result
}

/** `quintet migrate load`; gives its CPU time and the most memory that it had. */
export async function runImport(file, endpoint, items) {
  const env = { DYNAMODB: endpoint, PROJECTS_TABLE: tableOf('quintet'), DOMAINS: 'projects' }
  const { child, log } = start('import', here('../dist/src/cli.js'), ['migrate', 'load', file], env)
  while (!/^written /m.test(log())) {
    if (child.exitCode !== null) throw new Error(log())
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const result = await ask(child, 'cpu')
  await stop(child)
  if (!log().includes(`written ${items},`)) throw new Error(log())
  return result
}

/** A file for the time of the measurement. */
export const fileFor = name => join(folder, name)

/** Where other clients reach a server's embedded engine. */
export const embeddedEndpoint = ({ log }) =>
  /(http:\/\/127\.0\.0\.1:\d+)"?\}?\s*$/m.exec(log().split('AWS clients')[1])[1]

/** Puts items into a table of an engine. */
export async function putAll(endpoint, table, items) {
  const pool = new Pool(endpoint, { connections: 4 })
  const headers = { 'x-amz-target': 'DynamoDB_20120810.BatchWriteItem', 'content-type': 'application/x-amz-json-1.0' }
  const put = async batch => {
    const body = JSON.stringify({ RequestItems: { [table]: batch.map(Item => ({ PutRequest: { Item } })) } })
    const res = await pool.request({ path: '/', method: 'POST', headers, body })
    const text = await res.body.text()
    if (res.statusCode !== 200) throw new Error(text)
  }
  const batch = []
  for (const item of items) if (batch.push(item) === 25) await put(batch.splice(0))
  if (batch.length) await put(batch)
  await pool.close()
}
