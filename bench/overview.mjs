// A project with 10,000 tokens as one answer: its first byte when it is sent page by page against when it is gathered, and
// eight of them at once in a small heap. The database is another process.
import { Client } from 'undici'
import { PROJECT, projectItem, tableOf, tokenItems } from './items.mjs'
import { median } from './median.mjs'
import { embeddedEndpoint, putAll, startServer, stop } from './processes.mjs'

const TOKENS = 10_000
const ROUNDS = 7
const HEAP_MB = 48

export async function overview() {
  const database = await startServer('quintet', '', {
    DYNAMODB: 'embedded',
    EMBEDDED_DATA: 'memory',
    EMBEDDED_PORT: '0'
  })
  const endpoint = embeddedEndpoint(database)
  const table = tableOf('quintet')
  await putAll(endpoint, table, [projectItem(table), ...tokenItems(table, TOKENS)])
  const server = await startServer('quintet', endpoint, {}, [`--max-old-space-size=${HEAP_MB}`])

  await read(server)
  const ratios = []
  for (let round = 0; round < ROUNDS; round++) {
    const streamed = await read(server)
    // A tag to compare with must be known before the first byte, so this one is gathered first.
    const gathered = await read(server, { 'if-none-match': '"other"' })
    if (streamed.bytes !== gathered.bytes) throw new Error(`${streamed.bytes} and ${gathered.bytes} bytes`)
    ratios.push(streamed.first / gathered.first)
  }
  const eight = await Promise.all(Array.from({ length: 8 }, () => read(server)))
  const isWhole = eight.every(({ bytes }) => bytes === eight[0].bytes)
  if (!isWhole || server.child.exitCode !== null) throw new Error('eight at once were not all answered')
  console.log(`\nAn overview of ${TOKENS.toLocaleString('en')} tokens (${(eight[0].bytes / 1e6).toFixed(1)} MB):`)
  console.log(`- first byte after ${median(ratios).toFixed(2)} of the time that it takes when all is gathered first`)
  console.log(`- eight at once are answered by a server with a heap of ${HEAP_MB} MB`)
  await stop(server.child)
  await stop(database.child)
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
