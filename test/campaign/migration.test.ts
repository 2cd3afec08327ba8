import t from 'tap'
import { campaign, flatMemory } from '../migration-helpers.js'
import { startPostgres } from '../postgres.js'

const server = await startPostgres(t)

t.test('2,000 projects with 10,000 tokens, five kills, twenty planted differences', async t => {
  await campaign(t, server, { projects: 2000, tokensEach: 5, kills: 5 })
})

t.test('20,000 tokens in flat memory', async t => {
  await flatMemory(t, server, 20_000)
})
