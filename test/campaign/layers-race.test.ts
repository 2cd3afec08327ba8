import t from 'tap'
import { assertRace, lostRounds, race, startApart } from '../layers-race.js'

t.test('64 publishers with 20 publishes each over 5 packages', async t => {
  const started = await startApart(t)
  const result = await race(started, { publishers: 64, publishes: 20, packages: 5 })
  assertRace(t, result)
  t.ok(lostRounds(started) > 0, 'they did meet')
  t.comment(`${result.looks} looks at pointers and indexes, ${lostRounds(started)} lost rounds`)
})

t.test('the same with all of them on one package', async t => {
  const started = await startApart(t)
  assertRace(t, await race(started, { publishers: 64, publishes: 2, packages: 1 }))
})
