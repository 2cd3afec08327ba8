// Answers DynamoDB's protocol at once, so that the server in front of it is what is measured.
import { createServer } from 'node:net'
import { crc32 } from 'node:zlib'
import { ALIASES, aliasItem, projectItem, tokenItems } from './items.mjs'
import { messageOf, readMessages } from './messages.mjs'

const latency = Number(process.env.LATENCY ?? 0)
const children = Number(process.env.CHILDREN ?? 0)
/** A project with so many tokens, read to its end in pages of a megabyte. */
const whole = Number(process.env.WHOLE ?? 0)
const known = new Map()

function answerOf(target, table, body) {
  const units = { TableName: table, CapacityUnits: 1 }
  if (target === 'GetItem') return { Item: projectItem(table), ConsumedCapacity: units }
  if (target === 'Query' && children > 0) return pageOfChildren(body)
  if (target === 'Query' && whole > 0) return pageOfProject(table, startOf(body))
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
  const from = startOf(body)
  const key = i => ({ pk: { S: 'PROJECT#benchproj' }, sk: { S: `TOKEN#tkn-${i}` } })
  const Items = Array.from({ length: Math.min(1000, children - from) }, (_, i) => key(from + i))
  const last = from + Items.length
  return { Items, Count: Items.length, ...(last < children ? { LastEvaluatedKey: key(last - 1) } : {}) }
}

const startOf = body => Number(/"ExclusiveStartKey":.*?TOKEN#tkn-(\d+)/.exec(body)?.[1] ?? -1) + 1

/** A megabyte of a project's items, as DynamoDB measures them. */
function pageOfProject(table, from) {
  const all = tokenItems(table, whole)
  const Items = from === 0 ? [projectItem(table)] : []
  let bytes = 0
  let at = from
  for (; at < whole && bytes < 1024 * 1024; at++) {
    Items.push(all[at])
    for (const [name, { S }] of Object.entries(all[at])) bytes += name.length + S.length
  }
  const { pk, sk } = all[at - 1]
  return { Items, Count: Items.length, ...(at < whole ? { LastEvaluatedKey: { pk, sk } } : {}) }
}

function answerTo(target, table, body) {
  const text = JSON.stringify(answerOf(target, table, body))
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-crc32': crc32(text), 'x-amzn-requestid': 'R' }
  return messageOf('HTTP/1.1 200 OK', headers, text)
}

/** Most answers are always the same. */
function messageFor(target, table, body) {
  if (target === 'Query' && children > 0) return answerTo(target, table, body)
  const name = `${target} ${table} ${whole > 0 ? startOf(body) : ''}`
  if (!known.has(name)) known.set(name, Buffer.from(answerTo(target, table, body)))
  return known.get(name)
}

const server = createServer(socket => {
  socket.setNoDelay()
  socket.on('error', () => socket.destroy())
  readMessages(socket, (head, body) => {
    const target = /\nx-amz-target: *DynamoDB_20120810\.(\w+)/i.exec(head)[1]
    const table = /"(bench-[a-z]+)"/.exec(body)?.[1] ?? ''
    const answer = messageFor(target, table, body)
    if (latency) setTimeout(() => socket.write(answer), latency)
    else socket.write(answer)
  })
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
