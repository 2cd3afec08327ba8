import { readFile } from 'node:fs/promises'
import t from 'tap'
import { load } from '../src/migrate/load.js'
import { createOutput } from '../src/migrate/output.js'
import type { Piece } from '../src/postgres/rows.js'
import { isoOf, isSameMoment } from '../src/postgres/time.js'
import { Problem } from '../src/problems.js'
import { withoutPassword } from '../src/services/project-differences.js'
import { AT, begin, piece, token } from './migration-files.js'
import { collect } from './migration-helpers.js'

t.test('a batch that DynamoDB does not take fails the load, whenever it comes', async t => {
  const pieces = Array.from({ length: 300 }, (_, i) => piece(`p${i}`, ['a', 'b', 'c', 'd']))
  const { file } = await begin(t, pieces)
  for (const failing of [1, 2, 5, 12]) {
    let batches = 0
    const copyAll = async () => {
      batches += 1
      const mine = batches
      await new Promise(resolve => setTimeout(resolve, mine === failing ? 0 : 2))
      if (mine === failing) throw new Problem('database-unavailable')
    }
    const loading = load(file, { copyAll }, { overwrite: false }, collect().output)
    await t.rejects(loading, { code: 'database-unavailable' }, `batch ${failing} of ${batches}`)
  }
})

t.test('PostgreSQL’s times become ISO 8601 in UTC, to the last digit', async t => {
  const times: [string, string | undefined][] = [
    ['2022-02-02 18:01:49.345261+00', '2022-02-02T18:01:49.345261Z'],
    ['2022-02-02 18:01:49+00', '2022-02-02T18:01:49Z'],
    ['2022-02-02 18:01:49.3+00', '2022-02-02T18:01:49.300Z'],
    ['2022-02-02 23:31:49.345261+05:30', '2022-02-02T18:01:49.345261Z'],
    ['2021-12-31 20:00:00-08', '2022-01-01T04:00:00Z'],
    ['1883-11-18 12:03:57.5-04:56:02', '1883-11-18T16:59:59.500Z'],
    ['2022-02-02 18:01:49.345261', '2022-02-02T18:01:49.345261Z'],
    ['2022-02-02T18:01:49.345261Z', '2022-02-02T18:01:49.345261Z'],
    ['2022-02-30 00:00:00+00', undefined],
    ['infinity', undefined],
    ['0044-03-15 12:00:00+00 BC', undefined],
    ['9999-12-31 23:59:59-05', undefined]
  ]
  for (const [text, iso] of times) t.equal(isoOf(text), iso, text)
  t.ok(isSameMoment('2022-02-02T18:01:49.000Z', '2022-02-02T18:01:49Z'))
  t.notOk(isSameMoment('2022-02-02T18:01:49.345Z', AT), 'microseconds count')
  t.notOk(isSameMoment('2022-02-02 18:01:49+00', '2022-02-02T18:01:49Z'), 'as do the letters')
})

t.test('a file of one project, as documented', async t => {
  const { file } = await begin(t, [piece('myproj', ['tkn-1'])])
  const lines = (await readFile(file, 'utf8')).split('\n').map(line => line && JSON.parse(line))
  t.match(lines, [
    { format: 'quintet-projects/1', takenAt: '1970-01-01T00:00:00.000Z' },
    {
      project: 'myproj',
      repository: 'https://example.com/r',
      tokens: [{ token_id: 'tkn-1', created_at: AT, expires_at: AT }]
    },
    { end: true, projects: 1, tokens: 1, sha256: /^[0-9a-f]{64}$/ },
    ''
  ])
})

t.test('what is there and equal is skipped, what differs is left, or changed on demand', async t => {
  const { run, raw } = await begin(t, [piece('proj1', ['a', 'b', 'c']), piece('proj2', ['d'])])
  const hashed = { pk: 'PROJECT#proj1', sk: 'TOKEN#b', created_at: AT, expires_at: '2030-01-01T00:00:00.000Z' }
  await raw.put('projects', { ...hashed, hashed_token: 'kept', strange: 1 })
  await raw.put('projects', { pk: 'PROJECT#proj1', sk: 'TOKEN#c', created_at: AT, expires_at: AT })
  await raw.put('projects', { pk: 'PROJECT#proj2', sk: 'METADATA', repository: 'https://me:hunter2@example.com/o' })
  const first = await run()
  t.equal(first.code, 1)
  t.strictSame(first.lines, [
    `differs  line 2: token "b" of project "proj1": expires_at is "${AT}" in the file, "2030-01-01T00:00:00.000Z" in DynamoDB`,
    'differs  line 3: project "proj2": repository is "https://example.com/r" in the file, "https://***@example.com/o" in DynamoDB',
    'written 3, skipped 1, overwritten 0, differing 2, failed 0'
  ])
  t.match(await raw.get('projects', 'PROJECT#proj1', 'TOKEN#b'), hashed, 'it was left')
  const second = await run({ overwrite: true })
  t.equal(second.code, 0)
  t.equal(second.summary, 'written 0, skipped 4, overwritten 2, differing 0, failed 0')
  t.strictSame(await raw.get('projects', 'PROJECT#proj1', 'TOKEN#b'), {
    ...hashed,
    expires_at: AT,
    hashed_token: 'kept',
    strange: 1
  })
  t.match(await raw.get('projects', 'PROJECT#proj2', 'METADATA'), { repository: 'https://example.com/r' })
  t.equal((await run()).summary, 'written 0, skipped 6, overwritten 0, differing 0, failed 0')
})

t.test('no secret of a URL is shown', async t => {
  const shown: [string, string][] = [
    ['https://me:hunter2@example.com/o', 'https://***@example.com/o'],
    ['https://hunter2@example.com/o', 'https://***@example.com/o'],
    ['https://hunter2:x-oauth-basic@example.com/o', 'https://***@example.com/o'],
    ['https://me:hun@ter2@example.com/o', 'https://***@example.com/o'],
    ['ssh://git:hunter2@example.com/o', 'ssh://git:***@example.com/o'],
    ['ssh://git@example.com/o', 'ssh://git@example.com/o'],
    ['git@example.com:o/r@1', 'git@example.com:o/r@1'],
    ['https://example.com/o@v1', 'https://example.com/o@v1'],
    [
      'postgres://me:hunter2@one/x and postgres://me:hunter2@two/x',
      'postgres://me:***@one/x and postgres://me:***@two/x'
    ]
  ]
  for (const [url, text] of shown) t.equal(withoutPassword(url), text)
})

t.test('many tokens go over several lines and transactions', async t => {
  const ids = Array.from({ length: 250 }, (_, n) => `tkn-${String(n).padStart(4, '0')}`)
  const many: Piece[] = [
    piece('big1', ids.slice(0, 99)),
    { project: 'big1', tokens: ids.slice(99, 198).map(id => token(id)) },
    { project: 'big1', tokens: ids.slice(198).map(id => token(id)) }
  ]
  const { run, api } = await begin(t, [piece('proj0', ['x']), ...many, piece('proj2')])
  t.strictSame(await run(), {
    code: 0,
    told: [],
    lines: ['written 254, skipped 0, overwritten 0, differing 0, failed 0'],
    summary: 'written 254, skipped 0, overwritten 0, differing 0, failed 0'
  })
  t.equal((await api.get('/v1/projects/big1/overview')).json().tokens.length, 250)
})

t.test('what cannot be loaded is named with its place, and the rest is loaded', async t => {
  const orphan: Piece = { project: 'nosuch1', tokens: [token('lost-1'), token('lost-2')] }
  const { run, raw } = await begin(t, [
    piece('good1', ['a']),
    orphan,
    piece('bad#name', ['b']),
    { ...piece('norepo1'), repository: null },
    { ...piece('good2'), tokens: [token('c'), token('', {}), token('d', { expiresAt: 'infinity' }), token('e#f')] },
    piece('leaving', ['g']),
    piece('x'.repeat(1001)),
    piece('good3', ['h', 'h'])
  ])
  await raw.put('projects', { pk: 'PROJECT#leaving', sk: 'METADATA', repository: 'https://example.com/r', deleting: 1 })
  const { code, told, summary } = await run()
  t.equal(code, 1)
  t.strictSame([...told].sort(), [
    'failed   line 3: token "lost-1" of project "nosuch1": there is no project nosuch1',
    'failed   line 3: token "lost-2" of project "nosuch1": there is no project nosuch1',
    'failed   line 4: the project name "bad#name" holds a #, which separates the parts of a key',
    'failed   line 4: the token "b" cannot be: its project "bad#name" cannot',
    'failed   line 5: the project "norepo1" has no repository',
    'failed   line 6: a token of project "good2": the token "d" has no usable expires_at: "infinity"',
    'failed   line 6: a token of project "good2": the token id "" is empty',
    'failed   line 6: a token of project "good2": the token id "e#f" holds a #, which separates the parts of a key',
    'failed   line 7: project "leaving": the project leaving is being deleted',
    'failed   line 7: token "g" of project "leaving": the project leaving is being deleted',
    `failed   line 8: the project name "${'x'.repeat(299)}… is longer than 1000 bytes`
  ])
  t.equal(summary, 'written 6, skipped 1, overwritten 0, differing 0, failed 11')
  const keys = (await raw.all('projects')).map(({ pk, sk }) => `${pk} ${sk}`)
  t.strictSame(keys.sort(), [
    'PROJECT#good1 METADATA',
    'PROJECT#good1 TOKEN#a',
    'PROJECT#good2 METADATA',
    'PROJECT#good2 TOKEN#c',
    'PROJECT#good3 METADATA',
    'PROJECT#good3 TOKEN#h',
    'PROJECT#leaving METADATA'
  ])
})

t.test('damage has a place', async t => {
  const pieces = ['one1', 'two2', 'three', 'four', 'five'].map(name => piece(name))
  const cases: [string, (lines: string[]) => string[], string[]][] = [
    [
      'a flipped letter',
      lines => lines.with(2, (lines[2] ?? '').replace('two2', 'twx2')),
      [
        'failed   line 3: is not as it was written: its checksum is wrong',
        'failed   line 7: says that there are 5 projects, but 4 could be read',
        'failed   line 7: its SHA-256 is not that of the lines before it'
      ]
    ],
    [
      'cut off in the middle of a line',
      lines => [...lines.slice(0, 3), (lines[3] ?? '').slice(0, 20)],
      [
        'failed   line 4: is not JSON; it may be cut off',
        'failed   line 5: the file is truncated: its last line, with the checksum, is missing'
      ]
    ],
    [
      'a line taken out',
      lines => lines.toSpliced(3, 1),
      [
        'failed   line 6: says that there are 5 projects, but 4 could be read',
        'failed   line 6: its SHA-256 is not that of the lines before it'
      ]
    ],
    [
      'something after the end',
      lines => [...lines, '{}'],
      ['failed   line 8: there is more after the line that should be the last']
    ],
    [
      'a line without end',
      lines => lines.with(1, `{"project":"${'y'.repeat(2_000_000)}"}`),
      [
        'failed   line 2: is longer than 1048576 bytes',
        'failed   line 7: says that there are 5 projects, but 4 could be read',
        'failed   line 7: its SHA-256 is not that of the lines before it'
      ]
    ],
    [
      'another format',
      lines => lines.with(0, '{"format":"quintet-projects/2"}'),
      [
        'failed   line 1: is not the first line of quintet-projects/1',
        'failed   line 7: its SHA-256 is not that of the lines before it'
      ]
    ]
  ]
  for (const [name, edit, told] of cases) {
    const { run, change, raw } = await begin(t, pieces)
    await change(edit)
    const result = await run()
    t.equal(result.code, 1, name)
    t.strictSame(result.told, told, name)
    t.ok((await raw.all('projects')).length >= 2, 'the rest was loaded')
  }
})

t.test('a bar in a terminal, plain lines elsewhere', async t => {
  let time = 0
  const show = (isTTY: boolean) => {
    const shown: string[] = []
    const output = createOutput({ isTTY, write: text => shown.push(text) }, () => time)
    const progress = output.progress(200)
    time += 6000
    progress.add(100)
    output.line('a line')
    progress.end()
    output.line('done')
    return shown.join('')
  }
  t.equal(show(false), '50 % done\na line\ndone\n')
  const bar = `[${'#'.repeat(15)}${' '.repeat(15)}] 50 %`
  t.equal(show(true), `${bar}\r\u001b[Ka line\n${bar}\r\u001b[Kdone\n`)
})
