import t from 'tap'
import { folder } from '../engine-helpers.js'
import { killWriters, moveAmounts, readWhileWriting } from '../engine-rounds.js'

t.test('amounts that move keep their sum', t => moveAmounts(t, 20))
t.test('amounts that move keep their sum, in a folder', t => moveAmounts(t, 10, folder(t)))
t.test('readers never see half a transaction', t => readWhileWriting(t, 1000))
t.test('readers never see half a transaction, in a folder', t => readWhileWriting(t, 100, folder(t)))
t.test('a killed process loses nothing it was told is stored', t => killWriters(t, 20, 700))
