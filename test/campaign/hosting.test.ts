import t from 'tap'
import { start } from '../helpers.js'
import { inconsistencies, raceAliases, raceDeletions } from '../hosting-races.js'

t.test('64 callers and three aliases, for ten seconds', async t => {
  const { answers, wrong } = await raceAliases(await start(t, { domains: ['hosting'] }), { callers: 64, ms: 10_000 })
  t.comment(answers)
  t.strictSame(wrong, [])
})

t.test('no alias comes while its deployment goes', async t => {
  const started = await start(t, { domains: ['hosting'] })
  t.strictSame(await raceDeletions(started, { rounds: 12, callers: 20 }), [])
  t.strictSame(await inconsistencies(started), [])
})
