import type { Test } from 'tap'
import { type Started, start, walk } from '../helpers.js'

/** Active subscriptions of a connection, as the original system writes them. */
export async function subscribeMany(raw: Started['raw'], connectionId: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await raw.put('realtime', {
      pk: `state#s${i}`,
      sk: `subscription#${connectionId}`,
      gsi1pk: `connection#${connectionId}`,
      gsi1sk: 'status#subscribed#1643245799',
      stateName: `s${i}`,
      connectionId,
      status: 'subscribed',
      subscribedAt: 1643245799
    })
  }
}

/** A disconnect that breaks off in the middle, throttled on the way, and is completed by the next one. */
export async function disconnectInTheMiddle(t: Test, count: number): Promise<void> {
  const { api, raw, counted, database } = await start(t, { domains: ['realtime'], env: { DYNAMODB_CLIENT: 'sdk' } })
  await api.put('/v1/connections/c', { userId: 'ann' })
  await subscribeMany(raw, 'c', count)
  await raw.put('realtime', {
    ...(await raw.get('realtime', 'state#s1', 'subscription#c')),
    strange: 'kept'
  })
  const faults = faultsIn(database)
  const active = async () => (await walk(api, '/v1/connections/c/subscriptions?limit=100')).length

  faults.after = Math.ceil(count / 200)
  const broken = await api.delete('/v1/connections/c')
  t.equal(broken.statusCode, 503, 'the caller hears that it broke off')
  faults.after = undefined
  const left = await active()
  t.ok(left > 0 && left < count, `${left} of ${count} are left`)
  t.equal((await api.get('/v1/connections/c')).statusCode, 200, 'and the connection, so that it can be seen')

  const { result, requests } = await counted(() => api.delete('/v1/connections/c'))
  t.equal(result.statusCode, 204, 'the next call completes it')
  t.comment(`${requests.length} requests for ${left} subscriptions`)
  t.ok(requests.length <= 2 * Math.ceil(left / 100) + 3, 'in batches')
  const items = await raw.all('realtime')
  t.equal(items.length, count, 'only the connection is gone')
  t.ok(items.every(({ status, reason }) => status === 'unsubscribed' && reason === 'connection closed'))
  t.equal(items.find(({ stateName }) => stateName === 's1')?.strange, 'kept', 'what we do not know stays')
  t.equal((await api.delete('/v1/connections/c')).statusCode, 404)
}

/** Makes the database fail transactions after so many. */
function faultsIn(database: Started['database']): { after?: number } {
  const faults: { after?: number } = {}
  database.dynamo('realtime').client.middlewareStack.add(
    (next, context) => args => {
      if (context.commandName === 'TransactWriteItemsCommand' && faults.after !== undefined && faults.after-- <= 0) {
        throw Object.assign(new Error('Slow down'), { name: 'ProvisionedThroughputExceededException' })
      }
      return next(args)
    },
    { step: 'initialize' }
  )
  return faults
}
