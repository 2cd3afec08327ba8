import { createRequire } from 'node:module'
import fc from 'fast-check'
import t from 'tap'
import { kindOf } from '../src/dynamo/retries.js'
import { answer, bothWays, refuse, standIn } from './stand-in.js'

const input = { TableName: 'table', Key: { pk: { S: 'a' }, sk: { S: 'b' } } }
const ways = ['fast', 'sdk'] as const

for (const way of ways) {
  t.test(`${way}: throttled twice, answered then, with waits in between`, async t => {
    const { asked, endpoint } = await standIn(t, (_asked, n, response) =>
      n < 3
        ? refuse(response, 'ProvisionedThroughputExceededException')
        : answer(response, 200, { Item: { pk: { S: 'a' } } })
    )
    const output = await bothWays(t, endpoint)[way]('GetItem', input)
    t.match(output, { Item: { pk: { S: 'a' } } })
    t.equal(asked.length, 3)
    t.ok((asked.at(-1)?.at ?? 0) > (asked[0]?.at ?? 0), 'time has passed')
  })

  t.test(`${way}: throttled for ever is an error after four attempts`, async t => {
    const { asked, endpoint } = await standIn(t, (_asked, _n, response) => refuse(response, 'ThrottlingException'))
    const failed = bothWays(t, endpoint)[way]('GetItem', input)
    await t.rejects(failed, { name: 'ThrottlingException', $metadata: { attempts: 4 } })
    t.equal(asked.length, 4)
  })

  t.test(`${way}: 500, a reset and a page of HTML are tried again`, async t => {
    const { asked, endpoint } = await standIn(t, (_asked, n, response) => {
      if (n === 1) return answer(response, 500, { __type: 'com.amazonaws.dynamodb.v20120810#InternalServerError' })
      if (n === 2) return response.socket?.destroy()
      if (n === 3) return answer(response, 503, '<html>busy</html>')
      return answer(response, 200, {})
    })
    await bothWays(t, endpoint)[way]('GetItem', input)
    t.equal(asked.length, 4)
  })

  t.test(`${way}: no answer in time is tried again`, async t => {
    const { asked, endpoint } = await standIn(t, (_asked, n, response) => {
      if (n > 1) answer(response, 200, {})
    })
    await bothWays(t, endpoint, {}, { connectionTimeout: 30_000, requestTimeout: 500 })[way]('GetItem', input)
    t.ok(asked.length >= 2, `asked ${asked.length} times`)
  })

  t.test(`${way}: nobody there is an error that says so`, async t => {
    const failed = bothWays(t, 'http://127.0.0.1:1')[way]('GetItem', input)
    await t.rejects(failed, { code: 'ECONNREFUSED', $metadata: { attempts: 4 } })
  })

  t.test(`${way}: a caller who gives up gets an AbortError at once`, async t => {
    const { asked, endpoint } = await standIn(t, () => {})
    const send = bothWays(t, endpoint)[way]
    const controller = new AbortController()
    const failed = send('GetItem', input, { abortSignal: controller.signal })
    while (asked.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    controller.abort()
    await t.rejects(failed, { name: 'AbortError' })
    await t.rejects(send('GetItem', input, { abortSignal: controller.signal }), { name: 'AbortError' })
    t.equal(asked.length, 1, 'and nothing is tried again')
  })

  t.test(`${way}: also while waiting for the next attempt`, async t => {
    const headers = { 'x-amz-retry-after': '4000' }
    const { asked, endpoint } = await standIn(t, (_asked, _n, response) =>
      refuse(response, 'ThrottlingException', {}, headers)
    )
    const controller = new AbortController()
    const failed = bothWays(t, endpoint)
      [way]('GetItem', input, { abortSignal: controller.signal })
      .catch(e => e)
    while (asked.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    await new Promise(resolve => setTimeout(resolve, 100))
    controller.abort()
    const atOnce = new Promise(resolve => setImmediate(resolve, 'waited on'))
    t.match(await Promise.race([failed, atOnce]), { name: 'AbortError' })
    t.equal(asked.length, 1, 'the answer asked to wait longer')
  })

  t.test(`${way}: a transaction keeps its token when it is tried again`, async t => {
    const { asked, endpoint } = await standIn(t, (_asked, n, response) =>
      n === 1 ? response.socket?.destroy() : answer(response, 200, {})
    )
    const TransactItems = [{ Delete: input }]
    const send = bothWays(t, endpoint)[way]
    await send('TransactWriteItems', { TransactItems })
    await send('TransactWriteItems', { TransactItems })
    await send('TransactWriteItems', { TransactItems, ClientRequestToken: 'mine' })
    const [first, second, third, fourth] = asked.map(({ body }) => JSON.parse(body).ClientRequestToken)
    t.match(first, /^[0-9a-f-]{36}$/)
    t.equal(second, first)
    t.not(third, first)
    t.equal(fourth, 'mine')
  })

  t.test(`${way}: credentials are renewed before they end, and a session token is sent`, async t => {
    const { asked, endpoint } = await standIn(t, (_asked, _n, response) => answer(response, 200, {}))
    let issued = 0
    let life = 100
    const credentials = async () => {
      issued += 1
      const expiration = new Date(Date.now() + life)
      return { accessKeyId: `AKID${issued}`, secretAccessKey: `s${issued}`, sessionToken: `t${issued}`, expiration }
    }
    const send = bothWays(t, endpoint, { credentials })[way]
    await send('GetItem', input)
    life = 3_600_000
    await new Promise(resolve => setTimeout(resolve, 200))
    await send('GetItem', input)
    await send('GetItem', input)
    const [first, ...later] = asked.map(({ headers }) => ({
      key: /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1],
      token: headers['x-amz-security-token']
    }))
    const number = (key = '') => Number(key.slice(4))
    t.equal(first?.token, `t${number(first?.key)}`)
    t.ok(number(later[0]?.key) > number(first?.key))
    t.strictSame(later[1], later[0], 'those that last are kept')
  })

  t.test(`${way}: a wrong clock is corrected by what the server says`, async t => {
    const HOUR = 3_600_000
    const there = () => Date.now() + HOUR
    const { asked, endpoint } = await standIn(t, ({ headers }, _n, response) => {
      const stamp = String(headers['x-amz-date']).replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z')
      const date = { date: new Date(there()).toUTCString() }
      if (Math.abs(Date.parse(stamp) - there()) < 300_000) return answer(response, 200, {}, date)
      return refuse(response, 'InvalidSignatureException', { message: 'Signature not yet current' }, date)
    })
    const send = bothWays(t, endpoint)[way]
    await send('GetItem', input)
    t.equal(asked.length, 2)
    await send('GetItem', input)
    t.equal(asked.length, 3, 'and stays corrected')
  })
}

t.test('an answer that was damaged on the way is asked for again', async t => {
  const { asked, endpoint } = await standIn(t, (_asked, n, response) =>
    answer(response, 200, { Item: { pk: { S: 'a' } } }, n === 1 ? { 'x-amz-crc32': '12345' } : {})
  )
  t.match(await bothWays(t, endpoint).fast('GetItem', input), { Item: { pk: { S: 'a' } } })
  t.equal(asked.length, 2)
})

t.test('an answer that comes damaged every time is an error', async t => {
  const { asked, endpoint } = await standIn(t, (_asked, _n, response) =>
    answer(response, 200, {}, { 'x-amz-crc32': '12345' })
  )
  await t.rejects(bothWays(t, endpoint).fast('GetItem', input), { name: 'CRC32CheckFailed' })
  t.equal(asked.length, 4)
})

t.test('errors are those of the official client', async t => {
  const image = { pk: { S: 'a' }, bytes: { B: 'YWJj' }, deep: { M: { list: { L: [{ BS: ['YQ=='] }, { N: '1' }] } } } }
  const reasons = [
    { Code: 'None' },
    { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed', Item: image },
    { Code: 'TransactionConflict', Message: 'held' }
  ]
  const answers: [string, object][] = [
    ['ConditionalCheckFailedException', { Item: image }],
    ['TransactionCanceledException', { CancellationReasons: reasons, Message: 'cancelled' }],
    ['ResourceNotFoundException', {}],
    ['ValidationException', { message: 'Item size has exceeded the maximum allowed size' }],
    ['NobodyKnowsThisException', {}],
    ['AccessDeniedException', { message: undefined, Message: 'User is not authorized' }]
  ]
  for (const [name, more] of answers) {
    const { endpoint } = await standIn(t, (_asked, _n, response) => refuse(response, name, more))
    const { fast, sdk } = bothWays(t, endpoint)
    const [ours, theirs] = await Promise.all([fast, sdk].map(send => send('PutItem', input).catch(e => e)))
    t.equal(ours.name, name)
    t.equal(ours.constructor, theirs.constructor, name)
    t.equal(ours.message, theirs.message)
    const { totalRetryDelay, ...metadata } = theirs.$metadata
    t.equal(totalRetryDelay, 0)
    t.strictSame(fields({ ...ours }), fields({ ...theirs, $metadata: metadata }), name)
  }
})

const fields = ({ $response, ...error }: Record<string, unknown>) => error

const name = fc.string({ minLength: 1, maxLength: 8 }).filter(text => text !== '__proto__')
const bytes = fc.uint8Array({ minLength: 1, maxLength: 20 })
const number = fc.oneof(
  fc.integer().map(String),
  fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n }).map(String),
  fc.constantFrom('1E+125', '-0.00000000000000000000000000000000000001', '1.2345678901234567890123456789012345678')
)
const { value } = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'large', maxDepth: 12 },
    fc.string({ unit: 'binary', maxLength: 12 }).map(S => ({ S })),
    number.map(N => ({ N })),
    bytes.map(B => ({ B })),
    fc.boolean().map(BOOL => ({ BOOL })),
    fc.constant({ NULL: true }),
    fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 4 }).map(SS => ({ SS })),
    fc.uniqueArray(number, { minLength: 1, maxLength: 4 }).map(NS => ({ NS })),
    fc.array(bytes, { minLength: 1, maxLength: 3 }).map(BS => ({ BS })),
    fc.array(tie('value'), { maxLength: 4 }).map(L => ({ L })),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }).map(M => ({ M }))
  )
}))
const item = fc.dictionary(fc.oneof(name, fc.constantFrom('B', 'BS', 'Item', 'M')), value, { maxKeys: 6 })

t.test('what is sent and what is understood is the same both ways, whatever the values', async t => {
  let reply: unknown
  const { asked, endpoint } = await standIn(t, (_asked, _n, response) => answer(response, 200, reply))
  const { fast, sdk } = bothWays(t, endpoint)
  await fc.assert(
    fc.asyncProperty(item, item, async (first, second) => {
      reply = {}
      const put = { TableName: 'table', Item: first, ExpressionAttributeValues: second }
      await sdk('PutItem', put)
      const theirs = JSON.parse(asked.at(-1)?.body ?? '')
      await fast('PutItem', put)
      const ours = JSON.parse(asked.at(-1)?.body ?? '')
      same(ours, theirs)

      const { Item: one, ExpressionAttributeValues: two } = theirs
      const replies = [
        ['GetItem', { Item: one }],
        ['Query', { Items: [one, two], LastEvaluatedKey: two, Count: 2, ScannedCount: 2 }],
        ['UpdateItem', { Attributes: one }],
        ['TransactGetItems', { Responses: [{ Item: one }, {}, { Item: two }] }],
        ['BatchGetItem', { Responses: { Item: [one], table: [two] }, UnprocessedKeys: { table: { Keys: [one] } } }],
        [
          'BatchWriteItem',
          { UnprocessedItems: { table: [{ PutRequest: { Item: one } }, { DeleteRequest: { Key: two } }] } }
        ]
      ] as const
      for (const [operation, output] of replies) {
        reply = output
        const request = operation.startsWith('Batch') ? { RequestItems: {} } : { TableName: 'table' }
        const { $metadata, ...official } = await sdk(operation, request)
        same(await fast(operation, request), official)
      }
      same((await fast('BatchWriteItem', { RequestItems: {} })).UnprocessedItems, {
        table: [{ PutRequest: { Item: first } }, { DeleteRequest: { Key: second } }]
      })
    }),
    { numRuns: 60, seed: 1 }
  )
  t.ok(asked.length >= 60 * 15)

  function same(ours: unknown, theirs: unknown): void {
    const [a, b] = [ours, theirs].map(comparable)
    if (a !== b) throw new Error(`${a}\nis not\n${b}`)
  }
})

/** Text in which bytes differ from the text that stands for them, and the order of members does not count. */
function comparable(value: unknown): string {
  return JSON.stringify(value, (_name, v) => {
    if (v instanceof Uint8Array) return [`bytes ${Buffer.from(v).toString('hex')}`]
    if (v === null || typeof v !== 'object' || Array.isArray(v)) return v
    return Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

t.test('a failure is of the kind that the official client takes it for', async t => {
  const official = createRequire(createRequire(import.meta.url).resolve('@aws-sdk/client-dynamodb'))
  const { isThrottlingError, isTransientError, isServerError } = official('@smithy/core/retry')
  const theirKind = (error: unknown) => {
    if (isThrottlingError(error)) return 'THROTTLING'
    if (isTransientError(error)) return 'TRANSIENT'
    return isServerError(error) ? 'SERVER_ERROR' : 'CLIENT_ERROR'
  }
  const names = ['Error', 'AbortError', 'TimeoutError', 'ThrottlingException', 'RequestLimitExceeded', 'SlowDown']
  names.push('InvalidSignatureException', 'ConditionalCheckFailedException', 'TransactionInProgressException')
  const statuses = [undefined, 200, 400, 429, 500, 501, 503, 504]
  const codes = [undefined, 'ECONNRESET', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EACCES']
  let compared = 0
  for (const name of names)
    for (const httpStatusCode of statuses)
      for (const code of codes)
        for (const clockSkewCorrected of [undefined, true])
          for (const $retryable of [undefined, {}, { throttling: true }]) {
            const message = 'Signature expired'
            const inner = { name, message, code, $retryable, $metadata: { httpStatusCode, clockSkewCorrected } }
            const error = Object.assign(new Error(message), inner)
            const outer = Object.assign(new Error('outer'), { cause: error })
            for (const failure of [error, outer]) {
              compared += 1
              if (kindOf(failure) !== theirKind(failure)) t.equal(kindOf(failure), theirKind(failure), `${failure}`)
            }
          }
  t.equal(compared, 9 * 8 * 6 * 2 * 3 * 2)
})
