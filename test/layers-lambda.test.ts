import { readFileSync } from 'node:fs'
import t from 'tap'
import { start } from './helpers.js'
import { startBus, startLambda } from './layers-standins.js'

/** The handlers as Lambda loads them, fed with a recorded stream event; the configuration is all in the environment. */
const file = new URL('../../test/fixtures/layers-stream-event.json', import.meta.url)
const recorded = JSON.parse(readFileSync(file, 'utf8'))
const ARN = 'arn:aws:lambda:us-east-1:770693421928:layer:Klayers-p38-numpy'

const { api, raw, database } = await start(t, { domains: ['layers'], env: { EMBEDDED_DATA: 'memory' } })
const bus = await startBus(t)
const lambda = await startLambda(t, [`${ARN}:9`, `${ARN}:12`])
Object.assign(process.env, {
  DYNAMODB: (await database.engine?.listen(0))?.url,
  EVENT_BUS_NAME: 'layers-bus',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_ENDPOINT_URL_EVENTBRIDGE: bus.url,
  AWS_ENDPOINT_URL_LAMBDA: lambda.url
})
const { handler: stream } = await import('../src/lambda/stream.js')
const { handler: expiry } = await import('../src/lambda/expiry.js')

t.test('records that the bus does not take are named to Lambda', async t => {
  bus.moods.push('refuse all', 'refuse all', 'refuse all', 'refuse all', 'refuse all')
  t.strictSame(await stream(recorded), {
    batchItemFailures: [{ itemIdentifier: '400000000000000001' }, { itemIdentifier: '400000000000000002' }]
  })
  t.strictSame(bus.events, [])
})

t.test('a recorded stream event goes to the bus, and from there to the row and to Lambda', async t => {
  bus.moods.push('refuse half')
  t.strictSame(await stream(recorded), { batchItemFailures: [] })
  t.strictSame(
    bus.events.map(event => event.detail.record.dynamodb.Keys.sk?.S),
    ['lyrVrsn#v10', 'lyrVrsn#v9'],
    'the delete by hand and the change are not among them; the refused one came again'
  )
  t.ok(bus.requests.flat().every(entry => entry.EventBusName === 'layers-bus'))
  t.match(bus.events[0], { source: '2021-07-01T00:00:00.000', 'detail-type': 'REMOVE', detail: { pk_type: 'lyr' } })

  for (const event of [...bus.events, ...bus.events]) await expiry(event)
  t.strictSame(lambda.deleted, [`${ARN}:12`, `${ARN}:9`])
  const layer = await api.get('/v1/layers/us-east-1/numpy/9')
  t.match(layer.json(), { status: 'deleted', deletedAt: '2022-08-01T02:05:00.000Z', arn: `${ARN}:9` })
  const row = await raw.get('layers', 'lyr#us-east-1.numpy', 'lyrVrsn#v9')
  t.strictSame(Buffer.from(row?.lock as Uint8Array), Buffer.from([1, 2, 3]), 'binary survives the way')
})

t.test('an event that cannot be done is thrown, so that Lambda sets it aside', async t => {
  const [event] = structuredClone(bus.events)
  if (!event) throw new Error('the bus has no event')
  event.detail.record.dynamodb.OldImage.arn = { S: 'nonsense' }
  await t.rejects(expiry(event), { message: /names no layer version/ })
})
