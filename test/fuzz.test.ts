import t from 'tap'
import { fuzz } from './fuzz-rounds.js'

t.test('whatever is sent, the answer is documented and never our fault', t => fuzz(t, 4, 1))
