import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'

/**
 * Runs test files, each in a plain Node process of its own: `node dist/scripts/test.js [files]`. Tap's own runner hooks
 * every import of these processes and of their children, for coverage, mocks and TypeScript, none of which the tests
 * use; that took as long as the tests. The report is a line a file, every failure in full, and the count at the end.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: 'string', default: '4' }, timeout: { type: 'string', default: '300' } }
})
const GRACE_MS = 5000
const FAILURE_LINES = 40
const TOTALS = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?(?:, todo: \d+)?(?:, skip: (\d+))? \}/

const queue = positionals.length > 0 ? [...positionals] : ownTests()
const running = new Set<ChildProcess>()
const count = { files: 0, pass: 0, fail: 0, skip: 0 }

function ownTests(): string[] {
  return readdirSync('dist/test')
    .filter(name => name.endsWith('.test.js'))
    .map(name => `dist/test/${name}`)
}

async function work(): Promise<void> {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) report(file, await run(file))
}

interface Result {
  lines: string[]
  /** How the process ended, if not well. */
  end?: string
  time: number
}

function run(file: string): Promise<Result> {
  const started = performance.now()
  const child = spawn(process.execPath, [file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TAP_TIMEOUT: values.timeout, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' }
  })
  running.add(child)
  // Tap ends a test that is late and says what it waited for; only a process that cannot do that is killed.
  const late = setTimeout(() => child.kill('SIGKILL'), Number(values.timeout) * 1000 + GRACE_MS)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', chunk => (output += chunk))
  return new Promise(resolve =>
    child.once('close', (code, signal) => {
      clearTimeout(late)
      running.delete(child)
      const end = code === 0 ? undefined : (signal ?? `exit code ${code}`)
      resolve({ lines: output.split('\n'), end, time: performance.now() - started })
    })
  )
}

/** A process that ended badly, or before it had counted, has failed whatever it said. */
function report(file: string, { lines, end, time }: Result): void {
  const totals = lines.map(line => TOTALS.exec(line)).findLast(found => found !== null)
  const [pass, fail, skip] = [1, 2, 3].map(group => Number(totals?.[group] ?? 0)) as [number, number, number]
  const isBad = end !== undefined || totals === undefined || fail > 0
  count.files += 1
  count.pass += pass
  count.fail += isBad ? Math.max(fail, 1) : 0
  count.skip += skip
  console.log(`${isBad ? 'not ok' : 'ok'} ${count.files} - ${file} # time=${Math.round(time)}ms ${end ?? ''}`.trimEnd())
  let failure = 0
  for (const line of lines) {
    if (/^ *(not )?ok \d|^#/.test(line)) failure = 0
    if (/^ *(not ok|Bail out)/.test(line)) failure = FAILURE_LINES
    if (failure > 0 || / # SKIP/i.test(line)) console.log(line)
    failure -= 1
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    queue.length = 0
    for (const child of running) child.kill(signal)
    process.exitCode = 1
  })
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work))
console.log(`${count.pass} passed, ${count.fail} failed${count.skip ? `, ${count.skip} skipped` : ''}`)
if (count.fail > 0) process.exitCode = 1
