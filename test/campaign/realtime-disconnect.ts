import { BatchWriteItemCommand, DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import type { Test } from 'tap'
import { type Started, start, walk } from '../helpers.js'
import { until } from '../live-helpers.js'
import { spawnServer } from '../node-helpers.js'
import { anonymous } from '../outside.js'

/** Active subscriptions of a connection, as the original system writes them. */
const subscriptions = (connectionId: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    pk: `state#s${i}`,
    sk: `subscription#${connectionId}`,
    gsi1pk: `connection#${connectionId}`,
    gsi1sk: 'status#subscribed#1643245799',
    stateName: `s${i}`,
    connectionId,
    status: 'subscribed',
    subscribedAt: 1643245799
  }))

export async function subscribeMany(raw: Started['raw'], connectionId: string, count: number): Promise<void> {
  await raw.putAll('realtime', subscriptions(connectionId, count))
}

/** A disconnect whose every other transaction is throttled. */
export async function disconnectThrottled(t: Test, count: number): Promise<void> {
  const { api, raw, database } = await start(t, { domains: ['realtime'], env: { DYNAMODB_CLIENT: 'sdk' } })
  await api.put('/v1/connections/c', { userId: 'ann' })
  await subscribeMany(raw, 'c', count)
  // Where the client tries again.
  const sent = refuseTransactions(database, 'finalizeRequest', attempt => attempt % 2 === 1)
  t.equal((await api.delete('/v1/connections/c')).statusCode, 204)
  t.equal(sent(), 2 * Math.ceil(count / 100), 'each was tried twice')
  const items = await raw.all('realtime')
  t.equal(items.length, count)
  t.ok(items.every(({ status, reason }) => status === 'unsubscribed' && reason === 'connection closed'))
}

/** A disconnect that breaks off in the middle, and the next that completes it. */
export async function disconnectInTheMiddle(t: Test, count: number): Promise<void> {
  const { api, raw, counted, database } = await start(t, { domains: ['realtime'], env: { DYNAMODB_CLIENT: 'sdk' } })
  await api.put('/v1/connections/c', { userId: 'ann' })
  await subscribeMany(raw, 'c', count)
  await raw.put('realtime', {
    ...(await raw.get('realtime', 'state#s1', 'subscription#c')),
    strange: 'kept'
  })
  let isBroken = true
  refuseTransactions(database, 'initialize', attempt => isBroken && attempt > Math.ceil(count / 200))
  const active = async () => (await walk(api, '/v1/connections/c/subscriptions?limit=100')).length

  const broken = await api.delete('/v1/connections/c')
  t.equal(broken.statusCode, 503, 'the caller hears that it broke off')
  isBroken = false
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

/** Lets some transactions be throttled; gives how many there were. */
function refuseTransactions(
  database: Started['database'],
  step: 'initialize' | 'finalizeRequest',
  isRefused: (attempt: number) => boolean
): () => number {
  let sent = 0
  database.dynamo('realtime').client.middlewareStack.add(
    (next, context) => args => {
      if (context.commandName === 'TransactWriteItemsCommand' && isRefused(++sent)) {
        throw Object.assign(new Error('Slow down'), { name: 'ProvisionedThroughputExceededException' })
      }
      return next(args)
    },
    { step: step as 'initialize', priority: 'low' }
  )
  return () => sent
}

/** kill -9 of the server in the middle of a disconnect: another completes it. */
export async function killedInTheMiddle(t: Test, count: number): Promise<void> {
  const stays = await spawnServer(t, { EMBEDDED_DATA: 'memory', EMBEDDED_PORT: '0' })
  const client = new DynamoDBClient({ ...anonymous, endpoint: stays.dynamo })
  t.teardown(() => client.destroy())
  const put = async (items: object[]) => {
    for (let i = 0; i < items.length; i += 25) {
      const compose = items.slice(i, i + 25).map(item => ({ PutRequest: { Item: marshall(item) } }))
      await client.send(new BatchWriteItemCommand({ RequestItems: { compose } }))
    }
  }
  const activeOf = async (id: string) => {
    const values = { ':pk': `connection#${id}`, ':sk': 'status#subscribed#' }
    const { Count } = await client.send(
      new QueryCommand({
        TableName: 'compose',
        IndexName: 'gsi1',
        Select: 'COUNT',
        KeyConditionExpression: 'gsi1pk = :pk AND begins_with(gsi1sk, :sk)',
        ExpressionAttributeValues: marshall(values)
      })
    )
    return Count as number
  }
  for (let round = 1; round <= 10; round++) {
    const id = `c${round}`
    const dies = await spawnServer(t, { DYNAMODB: stays.dynamo as string })
    const made = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{"userId":"ann"}' }
    await fetch(`${dies.url}/v1/connections/${id}`, made)
    await put(subscriptions(id, count))
    const broken = fetch(`${dies.url}/v1/connections/${id}`, { method: 'DELETE' }).catch(() => undefined)
    await until('its beginning', async () => (await activeOf(id)) < count)
    await dies.kill('SIGKILL')
    await broken
    const left = await activeOf(id)
    if (left === 0) continue
    t.comment(`killed with ${left} of ${count} left, in round ${round}`)
    const { status } = await fetch(`${stays.url}/v1/connections/${id}`, { method: 'DELETE' })
    t.equal(status, 204, 'the next disconnect, on another server, completes it')
    t.equal(await activeOf(id), 0)
    t.equal((await fetch(`${stays.url}/v1/connections/${id}`)).status, 404)
    return
  }
  t.fail('it was never in the middle')
}
