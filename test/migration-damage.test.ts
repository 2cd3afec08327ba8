import { readFile } from 'node:fs/promises'
import t from 'tap'
import { begin, piece } from './migration-files.js'
import { startMigration } from './migration-helpers.js'
import { sharedPostgres } from './postgres.js'

const names = ['one1', 'two2', 'three']
const pieces = names.map(name => piece(name, [`${name}-a`, `${name}-ü`]))

/** Where each line of a file begins, and where the last one ends. */
function bordersOf(file: Buffer): number[] {
  const borders = [0]
  for (let at = file.indexOf(10); at !== -1; at = file.indexOf(10, at + 1)) borders.push(at + 1)
  return borders
}

t.test('a file that is cut off anywhere gives what is whole, and is called truncated', async t => {
  const { file, runWith, raw } = await begin(t, pieces)
  const whole = await readFile(file)
  const borders = bordersOf(whole)
  // From the end on, so that each run finds only what an earlier and longer one has written.
  t.equal((await runWith(whole)).code, 0)
  t.equal((await raw.all('projects')).length, 9)
  for (let end = whole.length - 2; end >= 0; end -= 11) {
    const { code, told, summary } = await runWith(whole.subarray(0, end))
    const complete = borders.filter(border => border <= end).length - 1
    // A line that lacks only its line feed is whole.
    const lines = borders.includes(end + 1) ? complete + 1 : complete
    const isCut = !borders.includes(end) && !borders.includes(end + 1)
    t.equal(code, 1)
    t.match(summary, `written 0, skipped ${3 * Math.max(0, lines - 1)}, overwritten 0, differing 0, failed`)
    t.match(told.at(-1), /^failed {3}line \d: the file is truncated: its last line, with the checksum, is missing$/)
    t.equal(told.length, isCut ? 2 : 1, `cut at ${end}: ${told}`)
  }
})

t.test('a byte that has changed anywhere is noticed, and nothing wrong is written', async t => {
  const { file, runWith, raw } = await begin(t, pieces)
  const whole = await readFile(file)
  t.equal((await runWith(whole)).code, 0)
  const stored = JSON.stringify(await raw.all('projects'))
  for (let at = 0; at < whole.length - 1; at += 11) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
    const { code, told, summary } = await runWith(changed)
    t.equal(code, 1, `byte ${at}`)
    t.match(summary, /^written 0, skipped \d+, overwritten 0, differing 0, failed [1-9]/)
    t.ok(told.every(line => /^failed {3}line \d+: /.test(line)))
  }
  t.equal(JSON.stringify(await raw.all('projects')), stored)
})

t.test('lines of any shape are refused one by one', async t => {
  const { runWith, raw } = await begin(t, [])
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const lines = [
    '{"format":"quintet-projects/1"}',
    `{"project":${deep(200_000)}}`,
    `{"project":"good1","repository":"x","tokens":[{"token_id":${deep(100_000)}},null,5,"text",[]]}`,
    ...['null', '5', '[1]', '"text"', '', '{"__proto__":{"project":"good2"},"project":"good2","repository":"x"}'],
    '{"project":"good3","repository":"\\ud800"}',
    '{"project":"goo\\ud8004","repository":"x"}',
    '{"project":"good5","repository":{"a":1}}',
    `{"project":"good6","repository":"${'r'.repeat(500_000)}"}`,
    '{"project":"good7","repository":"x"}'
  ]
  const { code, told, summary } = await runWith(`${lines.join('\n')}\n`)
  t.equal(code, 1)
  t.strictSame(
    told.map(line => Number(/^failed {3}line (\d+): /.exec(line)?.[1])).sort((a, b) => a - b),
    [2, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15]
  )
  t.equal(summary, 'written 2, skipped 0, overwritten 0, differing 0, failed 17')
  t.strictSame((await raw.all('projects')).map(({ pk }) => pk).sort(), ['PROJECT#good1', 'PROJECT#good7'])
})

t.test('what is busy is tried again, even beside what is there already', async t => {
  const server = await sharedPostgres()
  const { postgres, door, dump, load, verify, file, migrate, raw } = await startMigration(t, server)
  await postgres.admin.query("INSERT INTO projects VALUES ('proj1', 'x')")
  await postgres.admin.query("INSERT INTO tokens VALUES ('tkn-1', now(), 'proj1', now())")
  await dump(file)
  await raw.put('projects', { pk: 'PROJECT#proj1', sk: 'METADATA', repository: 'x' })
  let cancelled = 0
  door.before = async target => {
    if (!target.endsWith('TransactWriteItems') || cancelled === 1) return undefined
    cancelled += 1
    const there = { pk: { S: 'PROJECT#proj1' }, sk: { S: 'METADATA' }, repository: { S: 'x' } }
    const first = { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed', Item: there }
    const CancellationReasons = [first, { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' }]
    const __type = 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException'
    return { status: 400, body: JSON.stringify({ __type, Message: 'Transaction cancelled', CancellationReasons }) }
  }
  const loaded = await load(file)
  t.equal(loaded.lines.at(-1), 'written 1, skipped 1, overwritten 0, differing 0, failed 0', loaded.stderr)
  t.equal(cancelled, 1)

  // Names that neither side serves, one of which PostgreSQL cannot even be asked for.
  await raw.put('projects', { pk: 'PROJECT#a\u0000b', sk: 'METADATA', repository: 'x' })
  await raw.put('projects', { pk: 'PROJECT#a#b', sk: 'TOKEN#c', created_at: 'x' })
  const verified = await verify()
  t.match(verified.stdout, /: 0 differences .* 0 targets, 2 other items/, verified.stderr)

  const away = { DYNAMODB: 'http://127.0.0.1:1' }
  t.match(await migrate(['load', file], { PROJECTS_TABLE: 'nosuch' }), {
    code: 1,
    stderr: /^quintet: there is no table nosuch; quintet tables create makes it$/m
  })
  t.match(await migrate(['verify', '--from', postgres.readerUrl], away), {
    code: 1,
    stderr: /^quintet: The database throttles or cannot be reached: it cannot be reached \(ECONNREFUSED\)$/m
  })
})
