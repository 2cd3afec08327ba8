import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Test } from './helpers.js'
import { until } from './live-helpers.js'

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const REDIS = '/usr/bin/redis-server'

/** Why a test that needs Redis is skipped here, if it is. */
export const noRedis = existsSync(REDIS)
  ? false
  : 'redis-server is not installed (Debian: apt-get install redis-server)'

export interface Server {
  url: string
  /** The embedded engine's endpoint, if it has one. */
  dynamo?: string
  /** What it has logged so far. */
  output(): string
  /** Gives its exit code. */
  kill(signal: NodeJS.Signals): Promise<number | null>
}

/** A server process of our own, ended with the test. */
export async function spawnServer(t: Test, env: Record<string, string>): Promise<Server> {
  const child = spawn(process.execPath, [SERVER], {
    env: { PATH: process.env.PATH, PORT: '0', DOMAINS: 'realtime', ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const kill = ending(t, child)
  await until(`a server, but: ${output.slice(-500)}`, () => /"API {3}http/.test(output), 60_000)
  const found = (pattern: RegExp) => pattern.exec(output)?.[1]
  if (env.EMBEDDED_PORT) await until('its engine’s endpoint', () => /AWS clients {2}http/.test(output))
  return {
    url: found(/"API {3}(http:\/\/[^/]+)\/v1"/) as string,
    dynamo: found(/AWS clients {2}(http[^"]+)"/),
    output: () => output,
    kill
  }
}

/** Redis on a port, without any file. */
export async function spawnRedis(t: Test, port: number) {
  const child = spawn(REDIS, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  const kill = ending(t, child)
  await until('Redis', () => /Ready to accept connections/.test(output))
  return { kill, pause: () => child.kill('SIGSTOP'), resume: () => child.kill('SIGCONT') }
}

function ending(t: Test, child: ChildProcess) {
  const ended = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)))
  const kill = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return ended
  }
  t.teardown(() => kill('SIGKILL'))
  return kill
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}
