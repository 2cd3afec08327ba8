// The callers, in a process of their own: as many connections as told, each with one request at a time.
import { Pool } from 'undici'

let serial = 0
/** Names that no other call has used, for what is created. */
const fill = text => text?.replace('{unique}', `p${process.pid}x${(serial++).toString(36).padStart(6, '0')}`)

const pools = new Map()

/** Connections stay open from one window to the next. */
function poolOf(origin, connections) {
  const name = `${origin} ${connections}`
  if (!pools.has(name)) pools.set(name, new Pool(origin, { connections, pipelining: 1, keepAliveTimeout: 120_000 }))
  return pools.get(name)
}

async function run({ origin, path, method, headers, body, status, connections, count }) {
  const pool = poolOf(origin, connections)
  const started = performance.now()
  let left = count
  let wrong = ''
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left-- > 0) {
        const res = await pool.request({ path: fill(path), method, headers, body: fill(body) })
        const text = await res.body.text()
        if (res.statusCode !== status) wrong = `${method} ${path}: ${res.statusCode} ${text.slice(0, 300)}`
      }
    })
  )
  const seconds = (performance.now() - started) / 1000
  return { seconds, wrong }
}

process.on('message', async task => process.send(await run(task).catch(error => ({ wrong: String(error) }))))
process.on('disconnect', () => process.exit())
process.send('ready')
