import t from 'tap'
import { folder } from './engine-helpers.js'
import { killWriters, moveAmounts, readWhileWriting } from './engine-rounds.js'
import { aboutEmbedded } from './outside.js'

// The same at length: test/campaign/engine.test.ts
t.test('amounts that move keep their sum', aboutEmbedded, t => moveAmounts(t, 2))
t.test('amounts that move keep their sum, in a folder', aboutEmbedded, t => moveAmounts(t, 1, folder(t)))
t.test('readers never see half a transaction', aboutEmbedded, t => readWhileWriting(t, 50))
t.test('readers never see half a transaction, in a folder', aboutEmbedded, t => readWhileWriting(t, 60, folder(t)))
t.test('a killed process loses nothing it was told is stored', aboutEmbedded, t => killWriters(t, 3, 400))
