import t from 'tap'
import { noRedis } from '../node-helpers.js'
import { disconnectInTheMiddle, disconnectThrottled, killedInTheMiddle } from './realtime-disconnect.js'
import { claimTogether, contend } from './realtime-emails.js'
import { fanOut, stall } from './realtime-live.js'
import { acrossNodes, hung, killed, stopped } from './realtime-nodes.js'

t.test('200 sockets, 500 writes from 20 writers', t => fanOut(t, { sockets: 200, writers: 20, writes: 500 }))
t.test('a socket that stops reading for 100 writes', t => stall(t, { writes: 100, bytes: 380_000 }))
t.test('two nodes and a Redis that restarts', { skip: noRedis }, t => acrossNodes(t, { sockets: 20 }))
t.test('kill -9 of a server with 50 sockets', t => killed(t, { sockets: 50, ttl: 12 }))
t.test('a Redis that hangs', { skip: noRedis }, t => hung(t))
t.test('SIGTERM to a server with 50 sockets', t => stopped(t, { sockets: 50 }))
t.test('a disconnect with 1,000 subscriptions', t => disconnectInTheMiddle(t, 1000))
t.test('a disconnect with 1,000 subscriptions that is throttled', t => disconnectThrottled(t, 1000))
t.test('kill -9 in the middle of a disconnect with 1,000 subscriptions', t => killedInTheMiddle(t, 1000))
t.test('100 claim one email at once', t => claimTogether(t, 100))
t.test('emails that change hands at once', t => contend(t, { users: 30, rounds: 40 }))
