import { marshall } from '@aws-sdk/util-dynamodb'
import t from 'tap'
import { announceRemovals, type StreamRecord } from '../src/services/layer-stream.js'
import { start } from './helpers.js'
import { arn } from './layers-helpers.js'
import { handlers, NOW, nothing, pk, REMOVED, record, row } from './layers-records.js'
import { startBus, startLambda } from './layers-standins.js'

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

t.test('large rows of other kinds are told, but not put back', async t => {
  const started = await start(t, { domains: ['layers'] })
  const bus = await startBus(t)
  const { restore } = handlers(started, await startLambda(t, []))
  const large = { exDt: NOW / 1000 - 10, requirementsTxt: 'x'.repeat(300_000) }
  const records = [
    record({ pk: 'bld#v1', sk: 'pckg#requests', ...large }),
    record({ pk: pk(), sk: 'lyrVrsn0#', ...large })
  ]
  t.strictSame(await announceRemovals(records, { ...nothing, restore, putEvents: bus.putEvents }), [])
  t.strictSame(
    bus.events.map(({ detail }) => [detail.pk_type, detail.sk_type]),
    [
      ['bld', 'pckg'],
      ['lyr', 'lyrVrsn0']
    ]
  )
  t.strictSame(await started.raw.all('layers'), [])
})

t.test('records that can never be handled are reported, and keep none of the others', async t => {
  const started = await start(t, { domains: ['layers'], now: () => NOW })
  const bus = await startBus(t)
  const { restore } = handlers(started, await startLambda(t, []))
  const reports: string[] = []
  const report = (reason: string, { eventID }: StreamRecord) => reports.push(`${eventID}: ${reason}`)
  const poison = [
    record(row(1), { eventSourceARN: undefined }),
    record(row(2), { dynamodb: { Keys: marshall({ pk: pk(), sk: 'lyrVrsn#v2' }) } }),
    record(row(3), { dynamodb: { Keys: marshall({ pk: pk(), sk: 'lyrVrsn#v3' }), OldImage: { arn: null } } }),
    // With the time of its deletion it is more than an item may be.
    record(row(4, { requirementsTxt: 'x'.repeat(409_429) })),
    record({ ...row(5), [`${'x'.repeat(60_000)}`]: 'a name', chnls: ['y'.repeat(300_000)] })
  ]
  const failed = await announceRemovals([...poison, record(row(6))], { restore, report, putEvents: bus.putEvents })
  t.strictSame(failed, [], 'none comes again')
  t.strictSame(
    bus.events.map(event => event.detail.record.eventID),
    ['lyrVrsn#v6']
  )
  t.match(reports, [
    'lyrVrsn#v1: The record does not name its stream',
    'lyrVrsn#v2: The record has no old image',
    /^lyrVrsn#v3: The record cannot be read: TypeError/,
    /^lyrVrsn#v4: The row cannot be put back: Item size/,
    'lyrVrsn#v5: The record is larger than an event'
  ])
})

t.test('a bus that counts wrongly is not believed', async t => {
  const told: number[] = []
  const answers = [
    { FailedEntryCount: 0, Entries: [{ EventId: '1' }, { ErrorCode: 'InternalFailure' }] },
    { FailedEntryCount: 1, Entries: [] },
    { FailedEntryCount: 0, Entries: [{ EventId: '2' }] }
  ]
  const putEvents = async (entries: object[]) => {
    told.push(entries.length)
    return answers[told.length - 1] ?? {}
  }
  t.strictSame(await announceRemovals([record(row(1)), record(row(2))], { ...nothing, putEvents }), [])
  t.strictSame(told, [2, 1, 1])
})
