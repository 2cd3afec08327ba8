import t from 'tap'
import { acrossNodes, killed, stopped } from './campaign/realtime-nodes.js'
import { noRedis } from './node-helpers.js'

t.test('two nodes and a Redis that restarts', { skip: noRedis }, t => acrossNodes(t, { sockets: 3 }))
t.test('a server that is killed with its sockets', t => killed(t, { sockets: 5, ttl: 8 }))
t.test('a server that is stopped with its sockets', t => stopped(t, { sockets: 5 }))
