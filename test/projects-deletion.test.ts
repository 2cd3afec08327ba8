import t from 'tap'
import {
  askDuringDeletion,
  deleteWithFewKeys,
  fill,
  killDuringDeletion,
  raceCreationAgainstDeletion
} from './deletion-rounds.js'
import { start } from './helpers.js'
import { until } from './live-helpers.js'
import { aboutEmbedded } from './outside.js'

const repository = 'https://github.com/example/doomed'

t.test('a deletion empties the partition in parallel batches', async t => {
  const now = Date.now()
  const started = await start(t, { domains: ['projects'], now: () => now })
  const { api, raw, counted } = started
  await api.post('/v1/projects', { name: 'doomed', repository })
  await api.post('/v1/projects', { name: 'spared', repository })
  await fill(started, 'doomed', 1000)
  const { requests } = await counted(() => api.delete('/v1/projects/doomed'))
  const count = (operation: string) => requests.filter(name => name === operation).length
  t.equal(count('BatchWriteItem'), 40)
  t.ok(count('Query') <= 2)
  t.ok(requests.length <= 40 + 2 + 2, 'the mark and the end are all that is added while the lease lasts')
  t.strictSame(
    (await raw.all('projects')).map(item => item.pk),
    ['PROJECT#spared']
  )
})

t.test('killed anywhere, a deletion is finished by the next call', aboutEmbedded, async t => {
  t.jobs = 5
  for (const [operation, n] of [
    ['UpdateItem', 1],
    ['BatchWriteItem', 7]
  ] as const) {
    t.test(`after ${operation} ${n}`, t => killDuringDeletion(t, 300, operation, n))
  }
})

t.test('the call that broke off goes on when it is repeated, with its If-Match too', async t => {
  const started = await start(t, { domains: ['projects'] })
  const { api, raw } = started
  const doomed = '/v1/projects/doomed'
  await api.post('/v1/projects', { name: 'doomed', repository })
  const { etag = '' } = (await api.get(doomed)).headers
  // Marked by whoever it was, with a lease that has ended or with none.
  for (const deleting of [Date.now() - 1000, 1, true, 'yes', null]) {
    await raw.put('projects', { pk: 'PROJECT#doomed', sk: 'METADATA', repository, deleting })
    await fill(started, 'doomed', 30)
    const what = `marked with ${JSON.stringify(deleting)}`
    for (const url of [
      doomed,
      `${doomed}/overview`,
      `${doomed}/tokens`,
      `${doomed}/tokens/tkn-1`,
      `${doomed}/targets/t0`
    ])
      t.match((await api.get(url)).json(), { code: 'project-not-found' }, `${url} ${what}`)
    t.match((await api.post('/v1/projects', { name: 'doomed', repository })).json(), { code: 'project-deleting' }, what)
    t.equal((await api.delete(doomed, { 'if-match': '"another"' })).statusCode, 412, what)
    t.equal((await api.delete(doomed, { 'if-match': String(etag) })).statusCode, 204, what)
    t.strictSame(await raw.all('projects'), [], what)
    t.equal((await api.delete(doomed, { 'if-match': String(etag) })).statusCode, 404, what)
  }
})

t.test('what another program has left of a project without its METADATA goes, too', async t => {
  const started = await start(t, { domains: ['projects'] })
  const { api, raw, counted } = started
  await fill(started, 'doomed', 300)
  const codes = await Promise.all([1, 2].map(async () => (await api.delete('/v1/projects/doomed')).statusCode))
  t.strictSame(codes, [204, 204])
  t.strictSame(await raw.all('projects'), [])
  const { requests } = await counted(() => api.delete('/v1/projects/doomed'))
  t.strictSame(requests, ['UpdateItem', 'Query'], 'where nothing is left, one look tells')
})

t.test('while it goes, a name is not free and its token is dead', t => askDuringDeletion(t, 1000))

// What that means for the memory, with 10,000: test/campaign/projects.test.ts
t.test('few keys are held, however many children go', aboutEmbedded, t => deleteWithFewKeys(t, 1_500))

t.test('no child survives its project', t => raceCreationAgainstDeletion(t, 25))

t.test('two deleters at once: both answer, and none deletes what comes after', async t => {
  const started = await start(t, { domains: ['projects'] })
  const { api, raw } = started
  for (let round = 0; round < 3; round++) {
    await api.post('/v1/projects', { name: 'doomed', repository })
    await fill(started, 'doomed', 200)
    const codes = await Promise.all([1, 2, 3].map(async () => (await api.delete('/v1/projects/doomed')).statusCode))
    t.strictSame(codes, [204, 204, 204])
    t.strictSame(await raw.all('projects'), [])
  }
})

t.test('what DynamoDB leaves unprocessed is tried again', async t => {
  const started = await start(t, { domains: ['projects'], env: { DYNAMODB_CLIENT: 'sdk' } })
  const { api, raw, database, config } = started
  const table = config.tables.projects
  await api.post('/v1/projects', { name: 'doomed', repository })
  await fill(started, 'doomed', 300)
  let withheld = 0
  // DynamoDB takes only a part of some batches when it is busy, which the engine never does.
  database.dynamo('projects').client.middlewareStack.add(
    next => async args => {
      const input = args.input as { RequestItems?: Record<string, unknown[]> }
      const requests = input.RequestItems?.[table]
      if (!requests || requests.length < 4) return next(args)
      const held = requests.splice(0, Math.floor(requests.length / 2))
      withheld += held.length
      const result = await next(args)
      Object.assign(result.output, { UnprocessedItems: { [table]: held } })
      return result
    },
    { step: 'initialize', name: 'busy' }
  )
  t.equal((await api.delete('/v1/projects/doomed')).statusCode, 204)
  t.equal(withheld, 12 * (12 + 6 + 3), 'half of each batch, half of that half and half again')
  t.strictSame(await raw.all('projects'), [])
})

t.test('a batch that fails between two pages ends the deletion before METADATA goes', async t => {
  const started = await start(t, { domains: ['projects'], env: { DYNAMODB_CLIENT: 'sdk' } })
  const { api, raw, database } = started
  await api.post('/v1/projects', { name: 'doomed', repository })
  const large = (i: number) => ({ pk: 'PROJECT#doomed', sk: `TARGET#t${i}`, type: 'x', properties: 'y'.repeat(8000) })
  await raw.putAll(
    'projects',
    Array.from({ length: 300 }, (_, i) => large(i))
  )
  let batches = 0
  let isBroken = true
  database.dynamo('projects').client.middlewareStack.add(
    (next, { commandName }) =>
      async args => {
        // The read of the second page takes longer than the failure of a batch of the first.
        if (commandName === 'QueryCommand') await new Promise(resolve => setTimeout(resolve, 30))
        if (commandName !== 'BatchWriteItemCommand' || !isBroken) return next(args)
        batches += 1
        if (batches !== 2) return next(args)
        throw Object.assign(new Error('busy'), { name: 'ThrottlingException', $fault: 'client', $metadata: {} })
      },
    { step: 'initialize', name: 'broken' }
  )
  t.match((await api.delete('/v1/projects/doomed')).json(), { status: 503, code: 'database-unavailable' })
  t.ok(await raw.get('projects', 'PROJECT#doomed', 'METADATA'), 'what marks the deletion is left')
  t.match((await api.post('/v1/projects', { name: 'doomed', repository })).json(), { code: 'project-deleting' })
  isBroken = false
  t.equal((await api.delete('/v1/projects/doomed')).statusCode, 204)
  t.strictSame(await raw.all('projects'), [])
})

t.test('a deleter that was held up too long does not delete what has come after', async t => {
  let now = Date.now()
  const env = { DYNAMODB_CLIENT: 'sdk' }
  const { api, raw, database, config } = await start(t, { domains: ['projects'], env, now: () => now })
  const target = '/v1/projects/doomed/targets/prod'
  const create = async () => {
    await api.post('/v1/projects', { name: 'doomed', repository })
    await api.put(target, { type: 'x', properties: {} })
  }
  await create()
  let isFirst = true
  database.dynamo('projects').client.middlewareStack.add(
    (next, { commandName }) =>
      async args => {
        if (commandName !== 'BatchWriteItemCommand' || !isFirst) return next(args)
        isFirst = false
        // DynamoDB takes nothing of it; meanwhile another takes over, finishes, and the name is taken anew.
        now += 10_000
        t.equal((await api.delete('/v1/projects/doomed')).statusCode, 204)
        await create()
        const { RequestItems } = args.input as { RequestItems: Record<string, unknown[]> }
        return { output: { UnprocessedItems: RequestItems, $metadata: {} }, response: {} } as never
      },
    { step: 'initialize', name: 'held up' }
  )
  t.match((await api.delete('/v1/projects/doomed')).json(), { status: 409, code: 'concurrent-changes' })
  t.ok(await raw.get('projects', 'PROJECT#doomed', 'TARGET#prod'), `the new target in ${config.tables.projects} stays`)
  t.equal((await api.get(target)).statusCode, 200)
})

t.test('a second deleter waits while the first is at work', async t => {
  const now = Date.now()
  const env = { DYNAMODB_CLIENT: 'sdk' }
  const { api, raw, database } = await start(t, { domains: ['projects'], env, now: () => now })
  await api.post('/v1/projects', { name: 'doomed', repository })
  await api.put('/v1/projects/doomed/targets/prod', { type: 'x', properties: {} })
  let open = () => {}
  const gate = new Promise<void>(resolve => (open = resolve))
  const asked: string[] = []
  database.dynamo('projects').client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async args => {
        asked.push(commandName)
        if (commandName === 'BatchWriteItemCommand') await gate
        return next(args)
      },
    { step: 'initialize', name: 'gate' }
  )
  const remove = async () => (await api.delete('/v1/projects/doomed')).statusCode
  const first = remove()
  await until('the first to be at work', () => asked.includes('BatchWriteItemCommand'))
  asked.length = 0
  const second = remove()
  await until('the second to have asked three times', () => asked.length === 3)
  t.strictSame([...new Set(asked)], ['UpdateItemCommand'], 'for the mark and nothing else')
  t.match((await api.post('/v1/projects', { name: 'doomed', repository })).json(), { code: 'project-deleting' })
  open()
  t.strictSame([await first, await second], [204, 204])
  t.strictSame(await raw.all('projects'), [])
})
