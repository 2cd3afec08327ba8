import t from 'tap'
import { queueRounds, takeoverRounds } from '../tenants-rounds.js'

t.test('1,000 rounds of 50 callers start one execution each', t => queueRounds(t, 1000, 50))
t.test('200 abandoned records are taken over by one of two takers', t => takeoverRounds(t, 200))
