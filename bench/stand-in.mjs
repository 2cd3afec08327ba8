// Answers DynamoDB's protocol at once, so that the server in front of it is what is measured.
import { createServer } from 'node:http'
import { crc32 } from 'node:zlib'
import { ALIASES, aliasItem, projectItem, tokenItems } from './items.mjs'

const latency = Number(process.env.LATENCY ?? 0)
const children = Number(process.env.CHILDREN ?? 0)
const known = new Map()

function answerOf(target, table, body) {
  const units = { TableName: table, CapacityUnits: 1 }
  if (target === 'GetItem') return { Item: projectItem(table), ConsumedCapacity: units }
  if (target === 'Query' && children > 0) return pageOfChildren(body)
  if (target === 'Query') {
    const Items = tokenItems(table)
    const { pk, sk } = Items.at(-1)
    return { Items, Count: 20, ScannedCount: 20, LastEvaluatedKey: { pk, sk }, ConsumedCapacity: units }
  }
  if (target === 'BatchGetItem') return { Responses: { [ALIASES]: [aliasItem] }, UnprocessedKeys: {} }
  if (target.startsWith('Transact')) return { ConsumedCapacity: [units] }
  if (target === 'BatchWriteItem') return { UnprocessedItems: {}, ConsumedCapacity: [units] }
  return { ConsumedCapacity: units }
}

/** Pages of a thousand keys, as many as there are children. */
function pageOfChildren(body) {
  const from = Number(/"ExclusiveStartKey":.*?TOKEN#tkn-(\d+)/.exec(body)?.[1] ?? -1) + 1
  const key = i => ({ pk: { S: 'PROJECT#benchproj' }, sk: { S: `TOKEN#tkn-${i}` } })
  const Items = Array.from({ length: Math.min(1000, children - from) }, (_, i) => key(from + i))
  const last = from + Items.length
  return { Items, Count: Items.length, ...(last < children ? { LastEvaluatedKey: key(last - 1) } : {}) }
}

function bytesOf(target, table, body) {
  const name = `${target} ${table}`
  if (target === 'Query' && children > 0) return Buffer.from(JSON.stringify(answerOf(target, table, body)))
  if (!known.has(name)) known.set(name, Buffer.from(JSON.stringify(answerOf(target, table, body))))
  return known.get(name)
}

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', part => {
    body += part
  })
  request.on('end', () => {
    const target = request.headers['x-amz-target'].slice('DynamoDB_20120810.'.length)
    const table = /"(bench-[a-z]+)"/.exec(body)?.[1] ?? ''
    const bytes = bytesOf(target, table, body)
    const send = () => {
      const headers = { 'content-type': 'application/x-amz-json-1.0', 'content-length': bytes.length }
      response.writeHead(200, { ...headers, 'x-amz-crc32': crc32(bytes), 'x-amzn-requestid': 'R' })
      response.end(bytes)
    }
    if (latency) setTimeout(send, latency)
    else send()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
