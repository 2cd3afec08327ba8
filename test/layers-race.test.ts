import t from 'tap'
import { start } from './helpers.js'
import { assertRace, race } from './layers-race.js'

t.test('ten publishers of one package get ten versions', async t => {
  const started = await start(t, { domains: ['layers'] })
  const result = await race(started, { publishers: 10, publishes: 1, packages: 1 })
  assertRace(t, result)
  t.ok(result.looks > 0)
})

t.test('publishers of several packages do not get into each other’s way', async t => {
  const started = await start(t, { domains: ['layers'] })
  assertRace(t, await race(started, { publishers: 12, publishes: 4, packages: 3 }))
})
