import t from 'tap'
import { assertRace, lostRounds, race, startApart } from './layers-race.js'

t.test('ten publishers of one package get ten versions', async t => {
  const started = await startApart(t)
  const result = await race(started, { publishers: 10, publishes: 1, packages: 1 })
  assertRace(t, result)
  t.ok(result.looks > 0)
  t.ok(lostRounds(started) > 0, 'they did meet')
})

t.test('publishers of several packages do not get into each other’s way', async t => {
  const started = await startApart(t)
  assertRace(t, await race(started, { publishers: 12, publishes: 4, packages: 3 }))
})
