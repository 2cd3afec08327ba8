import { readFileSync } from 'node:fs'
import type { DynamoDBStreamEvent } from 'aws-lambda'
import t from 'tap'
import { listen } from '../src/dynamo/engine/http.js'
import { expiryStatements, streamStatements } from '../src/infra/policy.js'
import { start } from './helpers.js'
import { startBus, startLambda } from './layers-standins.js'
import { dispatchOf } from './outside.js'

/**
 * The handlers as Lambda loads them, fed with what scripts/record-stream.ts recorded: the stream of a table in which two
 * versions of numpy expired. The configuration is all in the environment.
 */
const file = new URL('../../test/fixtures/layers-stream-event.json', import.meta.url)
const recorded: DynamoDBStreamEvent = JSON.parse(readFileSync(file, 'utf8'))
const ARN = 'arn:aws:lambda:us-east-1:770693421928:layer:Klayers-p38-numpy'
const keyOf = (record: DynamoDBStreamEvent['Records'][number]) =>
  `${record.eventName} ${record.dynamodb?.Keys?.pk?.S} ${record.dynamodb?.Keys?.sk?.S}`
const removals = recorded.Records.filter(record => record.userIdentity !== undefined)

const { api, raw, database } = await start(t, { domains: ['layers'], env: { EMBEDDED_DATA: 'memory' } })
/** What the handlers ask of the table, as IAM names it. */
const asked = new Set<string>()
const dispatch = dispatchOf(database)
const door = await listen((target, body) => {
  asked.add(String(target).replace('DynamoDB_20120810.', 'dynamodb:'))
  return dispatch(target, body)
}, 0)
t.teardown(() => door.close())
const bus = await startBus(t)
const lambda = await startLambda(t, [`${ARN}:11`, `${ARN}:12`])
Object.assign(process.env, {
  DYNAMODB: door.url,
  EVENT_BUS_NAME: 'layers-bus',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_ENDPOINT_URL_EVENTBRIDGE: bus.url,
  AWS_ENDPOINT_URL_LAMBDA: lambda.url
})
const { handler: stream } = await import('../src/lambda/stream.js')
const { handler: expiry } = await import('../src/lambda/expiry.js')

t.test('the recording holds all that a stream says', async t => {
  t.strictSame(removals.map(keyOf).sort(), [
    'REMOVE lyr#us-east-1.numpy lyrVrsn#v1',
    'REMOVE lyr#us-east-1.numpy lyrVrsn#v2'
  ])
  const said = new Set(recorded.Records.filter(record => !removals.includes(record)).map(keyOf))
  const others = [
    'INSERT bld#v2 pckg#numpy',
    'MODIFY bldVrsn0# pckg#numpy',
    'INSERT lyr#us-east-1.numpy lyrVrsn#v1',
    'MODIFY lyr#us-east-1.numpy lyrVrsn#v1',
    'INSERT lyr#us-east-1.numpy chnl#lts',
    'REMOVE lyr#us-east-1.numpy chnl#lts',
    'REMOVE lyr#us-east-1.pandas lyrVrsn#v1'
  ]
  t.strictSame(
    others.filter(key => !said.has(key)),
    [],
    'changes, and deletes by hand'
  )
})

t.test('records that the bus does not take are named to Lambda', async t => {
  bus.moods.push('refuse all', 'refuse all', 'refuse all', 'refuse all', 'refuse all')
  t.strictSame(await stream(recorded), {
    batchItemFailures: removals.map(({ dynamodb }) => ({ itemIdentifier: dynamodb?.SequenceNumber }))
  })
  t.strictSame(bus.events, [])
})

t.test('a recorded stream event goes to the bus, and from there to the row and to Lambda', async t => {
  bus.moods.push('refuse half')
  t.strictSame(await stream(recorded), { batchItemFailures: [] })
  const [first, second] = removals
  t.strictSame(
    bus.events.map(event => event.detail.record),
    [second, first],
    'the removals by TTL and nothing else, as they came; the refused one came again'
  )
  t.ok(bus.requests.flat().every(entry => entry.EventBusName === 'layers-bus'))
  const [, source] = first?.eventSourceARN?.split('/stream/') ?? []
  t.match(source, /^20\d\d-/)
  t.match(bus.events[0], { source, 'detail-type': 'REMOVE', detail: { pk_type: 'lyr', sk_type: 'lyrVrsn' } })

  for (const event of [...bus.events, ...bus.events]) await expiry(event)
  t.strictSame(lambda.deleted.toSorted(), [`${ARN}:11`, `${ARN}:12`], 'each once')
  const at = (first?.dynamodb?.ApproximateCreationDateTime as number) * 1000
  const layer = await api.get('/v1/layers/us-east-1/numpy/1')
  t.match(layer.json(), { status: 'deleted', deletedAt: new Date(at).toISOString(), arn: `${ARN}:11` })
  const row = await raw.get('layers', 'lyr#us-east-1.numpy', 'lyrVrsn#v1')
  t.notOk(row && ('dplySts' in row || 'exDt' in row), 'the row is in no index, and does not expire again')
  t.strictSame(Buffer.from(row?.lock as Uint8Array), Buffer.from([1, 2, 255]), 'binary survives the way')
  t.strictSame(row?.tags, new Set(['a', 'b']))
  t.equal((await raw.all('layers')).length, 2, 'and nothing else was written')
})

t.test('of the table they ask what their policies allow, and nothing else', async t => {
  const statements = [...streamStatements('stream', 'table', 'bus'), ...expiryStatements('table', 'versions')]
  const allowed = statements.filter(({ Resource }) => Resource.includes('table')).flatMap(({ Action }) => Action)
  t.strictSame([...asked], [...new Set(allowed)])
})

t.test('an event that cannot be done is thrown, so that Lambda sets it aside', async t => {
  const [event] = structuredClone(bus.events)
  if (!event) throw new Error('the bus has no event')
  event.detail.record.dynamodb.OldImage.arn = { S: 'nonsense' }
  await t.rejects(expiry(event), { message: /names no layer version/ })
})
