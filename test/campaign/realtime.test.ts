import t from 'tap'
import { noRedis } from '../node-helpers.js'
import { disconnectInTheMiddle } from './realtime-disconnect.js'
import { claimTogether } from './realtime-emails.js'
import { fanOut, stall } from './realtime-live.js'
import { acrossNodes, killed } from './realtime-nodes.js'

t.test('200 sockets, 500 writes from 20 writers', t => fanOut(t, { sockets: 200, writers: 20, writes: 500 }))
t.test('a socket that stops reading for 100 writes', t => stall(t, { writes: 100, bytes: 380_000 }))
t.test('two nodes and a Redis that restarts', { skip: noRedis }, t => acrossNodes(t, { sockets: 20 }))
t.test('kill -9 of a server with 50 sockets', t => killed(t, { sockets: 50, ttl: 12 }))
t.test('a disconnect with 1,000 subscriptions', t => disconnectInTheMiddle(t, 1000))
t.test('100 claim one email at once', t => claimTogether(t, 100))
