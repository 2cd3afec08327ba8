import t from 'tap'
import { start } from '../helpers.js'
import { assertRace, race } from '../layers-race.js'

t.test('64 publishers with 20 publishes each over 5 packages', async t => {
  const started = await start(t, { domains: ['layers'] })
  const result = await race(started, { publishers: 64, publishes: 20, packages: 5 })
  assertRace(t, result)
  t.comment(`${result.looks} looks at pointers and indexes, ${started.seen.length} requests to DynamoDB`)
})

t.test('the same with all of them on one package', async t => {
  const started = await start(t, { domains: ['layers'] })
  assertRace(t, await race(started, { publishers: 64, publishes: 2, packages: 1 }))
})
