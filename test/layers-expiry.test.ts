import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import t from 'tap'
import type { Expired } from '../src/dynamo/engine/index.js'
import { announceRemovals } from '../src/services/layer-stream.js'
import { start } from './helpers.js'
import { arn, at, publish } from './layers-helpers.js'
import { eventOf, handlers, NOW, nothing, pk, REMOVED, record, row } from './layers-records.js'
import { persist, startBus, startLambda } from './layers-standins.js'
import { aboutEmbedded } from './outside.js'

/** The engine's own sweeper and what it tells: these tests are about the embedded engine. */
const embedded = { EMBEDDED_DATA: 'memory' }

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

t.test('embedded: what fails now is handled with the next sweep', aboutEmbedded, async t => {
  const log: string[] = []
  const { raw, database } = await start(t, { domains: ['layers'], now: () => NOW, log, env: embedded })
  let puts = 0
  database.dynamo('layers').client.middlewareStack.add(
    (next, { commandName }) =>
      async args => {
        if (commandName === 'PutItemCommand' && ++puts === 1) throw new Error('The disk is full')
        return next(args)
      },
    { step: 'initialize' }
  )
  await raw.put('layers', row(1))
  await database.engine?.sweep()
  await database.engine?.sweep()
  t.equal(puts, 2)
  t.match(await raw.get('layers', pk(), 'lyrVrsn#v1'), { deleted_date: REMOVED })
  t.strictSame(
    log.filter(line => line.includes('cannot be handled')),
    []
  )
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
