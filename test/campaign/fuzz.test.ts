import t from 'tap'
import { fuzz } from '../fuzz-rounds.js'

for (const seed of [2, 3]) t.test(`seed ${seed}`, t => fuzz(t, 30, seed))
