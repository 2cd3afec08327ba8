// The callers, in a process of their own: as many connections as told, each with one request at a time.
import { connect } from 'node:net'
import { messageOf, readMessages } from './messages.mjs'

let serial = 0
/** Names that no other call has used, for what is created. */
const fill = text => text?.replace('{unique}', `p${process.pid}x${(serial++).toString(36).padStart(6, '0')}`)

const pools = new Map()

/** Connections stay open from one window to the next. */
function poolOf(origin, connections) {
  const name = `${origin} ${connections}`
  if (!pools.has(name))
    pools.set(
      name,
      Array.from({ length: connections }, () => caller(origin))
    )
  return pools.get(name)
}

/** One connection: sends a request and gives the head and the body of its answer. */
function caller(origin) {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname).setNoDelay()
  let waiting
  readMessages(socket, (head, body) => waiting.resolve({ head, body }))
  socket.on('error', error => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error('the connection was closed')))
  return request =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject }
      socket.write(request)
    })
}

async function run({ origin, path, method, headers, body, status, connections, count }) {
  const { host } = new URL(origin)
  // Only what is created differs from call to call.
  const requestOf = () => messageOf(`${method} ${path} HTTP/1.1`, { host, ...headers }, fill(body))
  const same = body?.includes('{unique}') ? undefined : requestOf()
  const right = `HTTP/1.1 ${status} `
  const started = performance.now()
  let left = count
  let wrong = ''
  await Promise.all(
    poolOf(origin, connections).map(async call => {
      while (left-- > 0) {
        const answer = await call(same ?? requestOf())
        if (!answer.head.startsWith(right)) wrong = `${method} ${path}: ${answer.head} ${answer.body.slice(0, 300)}`
      }
    })
  )
  const seconds = (performance.now() - started) / 1000
  return { seconds, wrong }
}

process.on('message', async task => process.send(await run(task).catch(error => ({ wrong: String(error) }))))
process.on('disconnect', () => process.exit())
process.send('ready')
