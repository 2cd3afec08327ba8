import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import t from 'tap'
import type { Expired } from '../src/dynamo/engine/index.js'
import { layerExpiry, type RemovalEvent } from '../src/services/layer-expiry.js'
import { lambdaDeletion } from '../src/services/layer-lambda.js'
import { announceRemovals, type StreamRecord } from '../src/services/layer-stream.js'
import { type Started, start } from './helpers.js'
import { arn, at, publish } from './layers-helpers.js'
import { persist, startBus, startLambda } from './layers-standins.js'
import { aboutEmbedded } from './outside.js'

/** The engine's own sweeper and what it tells: these tests are about the embedded engine. */
const embedded = { EMBEDDED_DATA: 'memory' }

const NOW = Date.parse('2026-03-01T00:00:00.000Z')
const REMOVED = '2026-03-01T00:00:00.000Z'
const STREAM = 'arn:aws:dynamodb:us-east-1:123456789012:table/layers/stream/2026-01-01T00:00:00.000'
const TTL = { type: 'Service', principalId: 'dynamodb.amazonaws.com' }
const pk = (name = 'requests') => `lyr#eu-west-1.${name}`
const nothing = { restore: async () => true, report: () => {} }

/** A row of a deprecated version, as it was before TTL removed it. */
const row = (version: number, more: Record<string, unknown> = {}) => ({
  pk: pk(),
  sk: `lyrVrsn#v${version}`,
  rgn: 'eu-west-1',
  pckg: 'requests',
  lyrVrsn: version,
  arn: arn(version),
  requirementsTxt: 'requests\n',
  dplySts: 'deprecated',
  exDt: NOW / 1000 - 10,
  ...more
})

/** A record as Lambda gets it. */
const record = (item: Record<string, unknown>, more: Partial<StreamRecord> = {}): StreamRecord => ({
  eventID: String(item.sk),
  eventName: 'REMOVE',
  eventSourceARN: STREAM,
  userIdentity: TTL,
  dynamodb: {
    Keys: marshall({ pk: item.pk, sk: item.sk }),
    OldImage: marshall(item),
    ApproximateCreationDateTime: NOW / 1000,
    SequenceNumber: `seq-${item.sk}`
  },
  ...more
})

const eventOf = (item: Record<string, unknown>): RemovalEvent => ({
  source: 'x',
  'detail-type': 'REMOVE',
  detail: { pk_type: 'lyr', sk_type: 'lyrVrsn', record: record(item) as never }
})

function handlers(started: Started, lambda: Awaited<ReturnType<typeof startLambda>>) {
  return layerExpiry({
    client: started.raw.client,
    table: started.config.tables.layers,
    now: () => NOW,
    deleteLayerVersion: lambdaDeletion(lambda.clientIn)
  })
}

t.test('embedded: a deprecated layer expires, and comes back as deleted', aboutEmbedded, async t => {
  const log: string[] = []
  const env = { LAYER_EXPIRY_DAYS: '0.00002' }
  const started = await start(t, { domains: ['layers'], log, env: { ...embedded, ...env } })
  const { api, raw } = started
  await publish(started, 1)
  const before = await raw.get('layers', pk(), 'lyrVrsn#v1')
  await raw.put('layers', { ...before, strange: new Uint8Array([1, 2, 255]) })
  await publish(started, 1)
  const isDeleted = async () => (await api.get(at('/1'))).json().status === 'deleted'
  for (const end = Date.now() + 40_000; Date.now() < end && !(await isDeleted()); ) await sleep(200)
  const after = await raw.get('layers', pk(), 'lyrVrsn#v1')
  const { dplySts: _status, ...rest } = before as Record<string, unknown>
  t.match(after?.deleted_date, /^20\d\d-/)
  const strange = Buffer.from([1, 2, 255])
  t.strictSame(
    { ...after, strange: Buffer.from(after?.strange as Uint8Array) },
    {
      ...rest,
      deleted_date: after?.deleted_date,
      strange
    }
  )
  t.match((await api.get(at('/latest'))).json(), { version: 2 })
  const lines = log.filter(line => line.includes('a layer has expired')).map(line => JSON.parse(line))
  t.match(lines, [{ region: 'eu-west-1', layer: arn(1).slice(0, -2), version: 1 }])
})

t.test('embedded: what can never be handled is reported, and keeps nothing else', aboutEmbedded, async t => {
  const log: string[] = []
  const { raw, database } = await start(t, { domains: ['layers'], now: () => NOW, log, env: embedded })
  await raw.put('layers', row(1, { arn: 'not an arn' }))
  await raw.put('layers', row(2))
  await database.engine?.sweep()
  await database.engine?.sweep()
  for (const sk of ['lyrVrsn#v1', 'lyrVrsn#v2']) {
    t.match(await raw.get('layers', pk(), sk), { deleted_date: REMOVED, dplySts: undefined, exDt: undefined })
  }
  t.equal(log.filter(line => line.includes('cannot be handled')).length, 1)
  t.equal(log.filter(line => line.includes('has expired')).length, 1)
})

t.test('only what TTL removed goes to the bus', async t => {
  const bus = await startBus(t)
  const records = [
    record(row(1)),
    record(row(2), { userIdentity: undefined }),
    record(row(3), { userIdentity: { type: 'Service', principalId: 'AIDA' } }),
    record(row(4), { eventName: 'MODIFY' }),
    record(row(5), { eventName: 'INSERT' }),
    record({ pk: 'bldVrsn0#', sk: 'pckg#requests' })
  ]
  t.strictSame(await announceRemovals(records, { ...nothing, putEvents: bus.putEvents }), [])
  t.strictSame(
    bus.events.map(event => [event.source, event['detail-type'], event.detail.pk_type, event.detail.sk_type]),
    [
      ['2026-01-01T00:00:00.000', 'REMOVE', 'lyr', 'lyrVrsn'],
      ['2026-01-01T00:00:00.000', 'REMOVE', 'bldVrsn0', 'pckg']
    ]
  )
  t.strictSame(bus.events[0]?.detail.record, JSON.parse(JSON.stringify(records[0])), 'the record as it came')
})

t.test('a delete by hand makes no event in the embedded engine either', aboutEmbedded, async t => {
  // The rows expire only once the first is gone: else the engine's own sweep could come before the delete.
  let now = NOW - 20_000
  const { raw, database } = await start(t, { domains: ['layers'], now: () => now, env: embedded })
  const heard: Expired[] = []
  database.engine?.onExpired('layers', async records => void heard.push(...records))
  await raw.put('layers', row(1))
  await raw.put('layers', row(2))
  await raw.client.send(new DeleteItemCommand({ TableName: 'layers', Key: marshall({ pk: pk(), sk: 'lyrVrsn#v1' }) }))
  now = NOW
  await database.engine?.sweep()
  t.strictSame(
    heard.map(one => one.dynamodb.Keys.sk?.S),
    ['lyrVrsn#v2']
  )
  t.equal(await raw.get('layers', pk(), 'lyrVrsn#v1'), undefined)
})

t.test('what the bus refuses is sent again, and nothing else is', async t => {
  const bus = await startBus(t, ['refuse half', 'throttle', 'break', 'refuse half'])
  bus.poison.push('lyrVrsn#v7"')
  const reports: string[] = []
  const report = (reason: string, { eventID }: StreamRecord) => reports.push(`${eventID}: ${reason}`)
  const records = Array.from({ length: 25 }, (_, i) => record(row(i + 1)))
  const broken = record(row(99), { dynamodb: { Keys: {} } })
  t.strictSame(await announceRemovals([broken, ...records], { ...nothing, report, putEvents: bus.putEvents }), [])
  const sent = bus.events.map(event => event.detail.record.eventID)
  t.strictSame(sent.length, new Set(sent).size, 'none twice')
  t.strictSame(sent.length, 24)
  t.strictSame(
    bus.requests.map(entries => entries.length),
    [10, 4, 4, 4, 2, 10, 5]
  )
  t.strictSame(bus.complaints, [])
  t.strictSame(reports, [
    'lyrVrsn#v99: The record has no keys of this table',
    'lyrVrsn#v7: The bus refuses it: MalformedDetail bad'
  ])
})

t.test('what stays refused is given back', async t => {
  const bus = await startBus(t, ['take', 'break', 'break'])
  const records = Array.from({ length: 12 }, (_, i) => record(row(i + 1)))
  const failed = await announceRemovals(records, { ...nothing, putEvents: bus.putEvents, tries: 2 })
  t.strictSame(failed, records.slice(10))
})

t.test('a row that is more than an event holds is put back before its summary is sent', async t => {
  const started = await start(t, { domains: ['layers'] })
  const bus = await startBus(t)
  const lambda = await startLambda(t, [arn(1), arn(2), arn(3)])
  const { restore, expireLayer } = handlers(started, lambda)
  const large = row(1, { requirementsTxt: 'x'.repeat(390_000) })
  const records = [
    record(large),
    record(row(2, { requirementsTxt: 'y'.repeat(200_000) })),
    record(row(3, { requirementsTxt: '"'.repeat(60_000) }))
  ]
  t.strictSame(await announceRemovals(records, { ...nothing, restore, putEvents: bus.putEvents }), [])
  t.strictSame(bus.complaints, [])
  t.equal(bus.events.length, 3)
  for (const event of bus.events) await expireLayer(event)
  t.strictSame(lambda.deleted, [arn(1), arn(2), arn(3)])
  const { dplySts: _status, exDt: _expiry, ...rest } = large
  t.strictSame(await started.raw.get('layers', pk(), 'lyrVrsn#v1'), { ...rest, deleted_date: REMOVED })
})

t.test('nothing is lost and nothing is done twice, whatever fails on the way', async t => {
  const started = await start(t, { domains: ['layers'] })
  const count = 30
  const rows = Array.from({ length: count }, (_, i) => row(i + 1))
  const bus = await startBus(t, ['take and hang', 'refuse half', 'break', 'throttle', 'take and hang', 'refuse half'])
  const lambda = await startLambda(
    t,
    rows.map(item => item.arn),
    ['break', 'delete and hang', 'throttle', 'delete and break', 'delete', 'break', 'break', 'delete and hang']
  )
  const { restore, expireLayer } = handlers(started, lambda)
  // As Lambda does, what is given back comes again.
  let left = rows.map(item => record(item))
  while (left.length > 0) left = await announceRemovals(left, { ...nothing, restore, putEvents: bus.putEvents })
  t.ok(bus.events.length > count, 'some came twice')
  // The bus delivers at least once: each event comes twice, the second round in another order and at once.
  for (const event of bus.events) await persist(() => expireLayer(event))
  const first = await started.raw.query('layers', pk())
  await Promise.all(bus.events.toReversed().map(event => persist(() => expireLayer(event))))
  t.strictSame(await started.raw.query('layers', pk()), first, 'the second round changed nothing')
  t.equal(first.length, count)
  t.ok(first.every(item => item.deleted_date === REMOVED && !('dplySts' in item) && !('exDt' in item)))
  t.strictSame(lambda.deleted.toSorted(), rows.map(item => item.arn).toSorted(), 'each once')
  t.ok(lambda.calls.every(call => call.startsWith('DELETE eu-west-1 ')))
})

t.test('a handler leaves alone what is not an expired version of a layer', async t => {
  // The engine's time stands still, too: else its own sweep would take the row on a slow machine.
  const started = await start(t, { domains: ['layers'], now: () => NOW })
  const lambda = await startLambda(t, [arn(1)])
  const { expireLayer } = handlers(started, lambda)
  const renewed = row(1, { exDt: NOW / 1000 + 1000, requirementsTxt: 'newer' })
  await started.raw.put('layers', renewed)
  await expireLayer(eventOf(row(1)))
  t.strictSame(await started.raw.get('layers', pk(), 'lyrVrsn#v1'), renewed, 'a newer row stays')
  for (const change of [{ pk_type: 'bld' }, { sk_type: 'lyrVrsn0' }, { sk_type: 'chnl' }]) {
    const event = eventOf(row(2))
    await expireLayer({ ...event, detail: { ...event.detail, ...change } })
  }
  await expireLayer({ ...eventOf(row(2)), 'detail-type': 'INSERT' })
  t.equal((await started.raw.all('layers')).length, 1)
  t.strictSame(lambda.calls, [])
  await t.rejects(expireLayer(eventOf(row(3, { arn: 'nonsense' }))), { message: /names no layer version/ })
})
