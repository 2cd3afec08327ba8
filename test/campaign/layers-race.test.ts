import t from 'tap'
import { assertRace, race, roundsOf, startNodes } from '../layers-race.js'

t.test('64 publishers with 20 publishes each over 5 packages, on four nodes', async t => {
  const nodes = await startNodes(t, 4)
  const result = await race(nodes, { publishers: 64, publishes: 20, packages: 5 })
  assertRace(t, result)
  const rounds = roundsOf(nodes)
  t.ok(rounds.lost > 0, 'they did meet')
  t.comment(`${result.looks} looks at pointers and indexes, ${rounds.lost} of ${rounds.all} rounds lost`)
})

t.test('the same on one node, where they wait for their turn', async t => {
  const nodes = await startNodes(t, 1)
  assertRace(t, await race(nodes, { publishers: 64, publishes: 20, packages: 5 }))
  t.comment(`${roundsOf(nodes).all} transactions for 1280 publishes`)
})

t.test('all of them on one package, on sixteen nodes', async t => {
  const nodes = await startNodes(t, 16)
  assertRace(t, await race(nodes, { publishers: 64, publishes: 2, packages: 1 }))
})
