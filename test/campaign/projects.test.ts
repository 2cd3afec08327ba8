import t from 'tap'
import {
  askDuringDeletion,
  deleteInFlatMemory,
  killDuringDeletion,
  raceCreationAgainstDeletion
} from '../deletion-rounds.js'

t.test('10,000 children, killed at five points', async t => {
  for (const atRequest of [1, 2, 5, 150, 380]) {
    await t.test(`at request ${atRequest}`, t => killDuringDeletion(t, 10_000, atRequest))
  }
})

t.test('10,000 children, asked all the while', t => askDuringDeletion(t, 10_000))

t.test('10,000 children in flat memory', t => deleteInFlatMemory(t, 10_000))

t.test('200 rounds of creation against deletion', t => raceCreationAgainstDeletion(t, 200))
