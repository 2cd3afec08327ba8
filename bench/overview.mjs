// A project with 10,000 tokens as one answer: its first byte when it is sent page by page against when it is gathered, and
// eight of them at once in a small heap. The stand-in has its pages at once.
import { Client } from 'undici'
import { PROJECT } from './items.mjs'
import { median } from './median.mjs'
import { startDatabase, startServer, stop } from './processes.mjs'

const TOKENS = 10_000
const ROUNDS = 12
const HEAP_MB = 48

export async function overview() {
  const database = await startDatabase('stand-in', [], { WHOLE: String(TOKENS) })
  console.log(`\nAn overview of ${TOKENS.toLocaleString('en')} tokens:`)
  await firstByte(await startServer('quintet', database.endpoint))
  const small = ['--min-semi-space-size=1', '--max-semi-space-size=8', `--max-old-space-size=${HEAP_MB}`]
  await eightAtOnce(await startServer('quintet', database.endpoint, {}, small))
  await stop(database.child)
}

async function firstByte(server) {
  for (let i = 0; i < ROUNDS; i++) await read(server)
  const ratios = []
  for (let round = 0; round < ROUNDS; round++) {
    const streamed = await read(server)
    // A tag to compare with must be known before the first byte, so this one is gathered first.
    const gathered = await read(server, { 'if-none-match': '"other"' })
    if (streamed.bytes !== gathered.bytes) throw new Error(`${streamed.bytes} and ${gathered.bytes} bytes`)
    ratios.push(streamed.first / gathered.first)
  }
  console.log(`- first byte after ${median(ratios).toFixed(2)} of the time that it takes when all is gathered first`)
  await stop(server.child)
}

async function eightAtOnce(server) {
  for (let round = 0; round < ROUNDS; round++) {
    const eight = await Promise.all(Array.from({ length: 8 }, () => read(server)))
    if (eight.some(({ bytes }) => bytes !== eight[0].bytes)) throw new Error('eight at once were not all answered')
  }
  console.log(`- eight at once are answered by a server with a heap of ${HEAP_MB} MB, ${ROUNDS} times`)
  await stop(server.child)
}

async function read({ origin, headers }, more = {}) {
  const client = new Client(origin)
  const began = performance.now()
  const { body, statusCode } = await client.request({
    path: `/v1/projects/${PROJECT}/overview`,
    method: 'GET',
    headers: { ...headers, ...more }
  })
  let first
  let bytes = 0
  for await (const part of body) {
    first ??= performance.now() - began
    bytes += part.length
  }
  await client.close()
  if (statusCode !== 200) throw new Error(`the overview answered ${statusCode}`)
  return { first, bytes }
}
