import t from 'tap'
import {
  askDuringDeletion,
  deleteInFlatMemory,
  killDuringDeletion,
  raceCreationAgainstDeletion
} from '../deletion-rounds.js'

t.test('10,000 children, killed at five points', async t => {
  // With its token the project has 10,001 children: after the last of 401 batches only METADATA is left.
  for (const [operation, n] of [
    ['UpdateItem', 1],
    ['Query', 1],
    ['BatchWriteItem', 1],
    ['BatchWriteItem', 200],
    ['BatchWriteItem', 401]
  ] as const) {
    await t.test(`after ${operation} ${n}`, t => killDuringDeletion(t, 10_000, operation, n))
  }
})

t.test('10,000 children, asked all the while', t => askDuringDeletion(t, 10_000))

t.test('10,000 children in flat memory', t => deleteInFlatMemory(t, 10_000))

t.test('200 rounds of creation against deletion', t => raceCreationAgainstDeletion(t, 200))
