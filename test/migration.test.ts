import t from 'tap'
import { campaign } from './migration-helpers.js'

t.test('dump, load with kills, verify with planted differences', async t => {
  await campaign(t, { projects: 200, tokensEach: 5, kills: 2 })
})
