import t from 'tap'
import { fanOut, stall } from './campaign/realtime-live.js'

t.test('20 sockets, 60 writes from 5 writers', t => fanOut(t, { sockets: 20, writers: 5, writes: 60 }))
t.test('a socket that stops reading', t => stall(t, { writes: 40, bytes: 380_000 }))
