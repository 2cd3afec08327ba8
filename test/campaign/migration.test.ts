import t from 'tap'
import { campaign, flatMemory } from '../migration-rounds.js'
import { startPostgres } from '../postgres.js'

const server = await startPostgres(t)

t.test('10,000 projects with 50,000 tokens, five kills, twenty planted differences', async t => {
  await campaign(t, server, { projects: 10_000, tokensEach: 5, kills: 5 })
})

t.test('100,000 tokens in flat memory', async t => {
  await flatMemory(t, server, 10_000, 100_000)
})
