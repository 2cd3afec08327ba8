import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * Runs test files in plain Node processes: `node dist/scripts/test.js [files]`. Tap's own runner hooks every import of
 * these processes and of their children, for coverage, mocks and TypeScript, none of which the tests use; that took as
 * long as the tests. Files whose names begin with the same word, such as a domain's, share a process one after the other,
 * and those without siblings share some: to load and compile what it needs is a third of a file's time. With `--alone`
 * each has its own. The report is a line a process, every failure in full, and the count at the end.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: '4' },
    timeout: { type: 'string', default: '300' },
    alone: { type: 'boolean', default: false }
  }
})
const GRACE_MS = 5000
const FAILURE_LINES = 40
/** How many files without siblings share a process. */
const TOGETHER = 4
const TOTALS = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?(?:, todo: \d+)?(?:, skip: (\d+))? \}/

const files = [...new Set(positionals.length > 0 ? positionals : ownTests())]
const queue = values.alone ? files.map(file => [file]) : grouped(files)
const running = new Set<ChildProcess>()
const count = { processes: 0, pass: 0, fail: 0, skip: 0 }

function ownTests(): string[] {
  return readdirSync('dist/test')
    .filter(name => name.endsWith('.test.js'))
    .map(name => `dist/test/${name}`)
}

/** The largest groups first, so that none is begun when all others are done. */
function grouped(files: string[]): string[][] {
  const families = new Map<string, string[]>()
  for (const file of files) {
    const word = basename(file).split(/[-.]/, 1)[0] as string
    families.set(word, [...(families.get(word) ?? []), file])
  }
  const groups = [...families.values()].filter(({ length }) => length > 1)
  const singles = [...families.values()].filter(({ length }) => length === 1).flat()
  for (let at = 0; at < singles.length; at += TOGETHER) groups.push(singles.slice(at, at + TOGETHER))
  const sizeOf = (group: string[]) => group.reduce((sum, file) => sum + statSync(file).size, 0)
  return groups.sort((a, b) => sizeOf(b) - sizeOf(a))
}

async function work(): Promise<void> {
  for (let files = queue.shift(); files !== undefined; files = queue.shift()) report(files, await run(files))
}

interface Result {
  lines: string[]
  /** How the process ended, if not well. */
  end?: string
  time: number
}

function run(files: string[]): Promise<Result> {
  const started = performance.now()
  const imports = files.map(file => `await import(${JSON.stringify(pathToFileURL(file))})`)
  const timeout = Number(values.timeout) * files.length
  const child = spawn(process.execPath, ['--input-type=module', '--eval', imports.join('\n')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TAP_TIMEOUT: String(timeout), AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' }
  })
  running.add(child)
  // Tap ends a test that is late and says what it waited for; only a process that cannot do that is killed.
  const late = setTimeout(() => child.kill('SIGKILL'), timeout * 1000 + GRACE_MS)
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
function report(files: string[], { lines, end, time }: Result): void {
  const totals = lines.map(line => TOTALS.exec(line)).findLast(found => found !== null)
  const [pass, fail, skip] = [1, 2, 3].map(group => Number(totals?.[group] ?? 0)) as [number, number, number]
  const isBad = end !== undefined || totals === undefined || fail > 0
  count.processes += 1
  count.pass += pass
  count.fail += isBad ? Math.max(fail, 1) : 0
  count.skip += skip
  const names = files.map(file => basename(file, '.test.js')).join(' ')
  console.log(
    `${isBad ? 'not ok' : 'ok'} ${count.processes} - ${names} # time=${Math.round(time)}ms ${end ?? ''}`.trimEnd()
  )
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
