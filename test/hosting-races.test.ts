import t from 'tap'
import { start } from './helpers.js'
import { inconsistencies, raceAliases, raceDeletions } from './hosting-races.js'

const started = await start(t, { domains: ['hosting'] })

t.test('64 callers and three aliases, for a moment', async t => {
  const { answers, wrong } = await raceAliases(started, { callers: 64, ms: 1000 })
  t.comment(answers)
  t.strictSame(wrong, [])
  t.ok(
    ['create 201', 'move 200', 'delete 204'].some(success => answers[success]),
    'some of it succeeds, also in a moment'
  )
})

t.test('no alias comes while its deployment goes', async t => {
  t.strictSame(await raceDeletions(started, { rounds: 4, callers: 12 }), [])
  t.strictSame(await inconsistencies(started), [])
})
