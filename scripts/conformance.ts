import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { javaVersion, startDynamoDBLocal } from './dynamodb-local.js'

/**
 * Runs the tests of the API and of the engine against Amazon's DynamoDB Local instead of the embedded engine. Arguments
 * choose test files by their beginning: `npm run test:conformance -- projects`.
 *
 * A file takes part if it starts its app or engine through the helpers, which honour TEST_DYNAMODB. A test in it that
 * says where its data is (EMBEDDED_DATA, EMBEDDED_PORT, DYNAMODB, or options of the engine) is about that place and
 * keeps it. What takes no part is named, and docs/engines.md says why.
 */
const folder = new URL('../test/', import.meta.url)
const STARTS =
  /import \{[^}]*\b(start\w*|listen|measure)\b[^}]*\} from '[./]+([\w-]*helpers|scripts\/patterns\/measure)\.js'/
const wanted = process.argv.slice(2)

const all = readdirSync(folder).filter(
  name => name.endsWith('.test.js') && (wanted.length === 0 || wanted.some(beginning => name.startsWith(beginning)))
)
const tests = all.filter(takesPart)
const others = all.filter(name => !tests.includes(name))

/** The file itself, or what it shares with its campaign. */
function takesPart(name: string): boolean {
  const text = readFileSync(new URL(name, folder), 'utf8')
  const shared = [...text.matchAll(/from '(\.\/[\w/-]+\.js)'/g)].map(([, path = '']) => path)
  return STARTS.test(text) || shared.some(path => STARTS.test(readFileSync(new URL(path, folder), 'utf8')))
}

async function run(): Promise<number> {
  if (tests.length === 0) {
    console.error(`conformance: no test file that takes part begins with ${wanted.join(' or ')}`)
    return 1
  }
  const java = javaVersion()
  if (!java) {
    console.log('conformance: no Java here, so DynamoDB Local cannot run; nothing was compared')
    return 0
  }
  const started = performance.now()
  const local = await startDynamoDBLocal()
  console.log(`conformance: DynamoDB Local on ${java}: ${tests.join(' ')}`)
  console.log(`conformance: these take no part: ${others.join(' ') || 'none'}`)
  try {
    const files = tests.map(name => fileURLToPath(new URL(name, folder)))
    const runner = fileURLToPath(new URL('./test.js', import.meta.url))
    const child = spawn(process.execPath, [runner, ...files], {
      stdio: 'inherit',
      env: { ...process.env, TEST_DYNAMODB: local.url }
    })
    const [code] = await once(child, 'exit')
    console.log(
      `conformance: ${code === 0 ? 'the same' : 'different'}, ${Math.round((performance.now() - started) / 1000)} s`
    )
    return code ?? 1
  } finally {
    await local.stop()
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.exitCode = await run()
