import t from 'tap'
import { campaign, peaks } from './migration-rounds.js'
import { sharedPostgres } from './postgres.js'

const server = await sharedPostgres()

t.test('dump, load with kills, verify with planted differences', async t => {
  await campaign(t, server, { projects: 200, tokensEach: 5, kills: 2 })
})

t.test('one project with many tokens', async t => {
  await peaks(t, server, 300)
})
