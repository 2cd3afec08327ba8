import t from 'tap'
import { fuzz } from '../fuzz-rounds.js'

for (const seed of [2, 3, 4]) t.test(`seed ${seed}`, t => fuzz(t, 150, seed))
