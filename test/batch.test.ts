import t from 'tap'
import { writeBatches } from '../src/dynamo/batch.js'
import type { Dynamo } from '../src/dynamo/client.js'
import type { Test } from './helpers.js'

const TABLE = 'cello'

async function* deletions(count: number) {
  for (let i = 0; i < count; i++) yield { DeleteRequest: { Key: { pk: 'p', sk: `s${i}` } } }
}

/** A DynamoDB that takes as much of each batch as it is told. */
function busy(take: (batch: object[], n: number) => number | Promise<number>) {
  const sizes: number[] = []
  const times: number[] = []
  const taken: object[] = []
  const request = async (_operation: string, { RequestItems }: { RequestItems?: Record<string, object[]> }) => {
    const batch = RequestItems?.[TABLE] ?? []
    times.push(performance.now())
    const count = await take(batch, sizes.push(batch.length))
    taken.push(...batch.slice(0, count))
    return { UnprocessedItems: count < batch.length ? { [TABLE]: batch.slice(count) } : {} }
  }
  return { dynamo: { request } as unknown as Dynamo, sizes, times, taken }
}

function fixRandom(t: Test, value: number): void {
  const { random } = Math
  Math.random = () => value
  t.teardown(() => {
    Math.random = random
  })
}

t.test('batches of 25 run in parallel, and not too many at once', async t => {
  let running = 0
  let most = 0
  const { dynamo, sizes } = busy(async batch => {
    running += 1
    most = Math.max(most, running)
    await new Promise(resolve => setTimeout(resolve, 2))
    running -= 1
    return batch.length
  })
  t.equal(await writeBatches(dynamo, TABLE, deletions(1010)), 1010)
  t.strictSame([...new Set(sizes)], [25, 10])
  t.equal(most, 16)
})

t.test('what is left unprocessed goes again, after pauses that grow', async t => {
  fixRandom(t, 0.999)
  const { dynamo, times, taken } = busy((_batch, n) => (n < 5 ? n : 25))
  await writeBatches(dynamo, TABLE, deletions(25))
  t.equal(taken.length, 25)
  t.equal(new Set(taken).size, 25, 'each once')
  const pauses = times.slice(1).map((time, i) => time - (times[i] as number))
  pauses.forEach((pause, i) => {
    // A timer may be early by a millisecond, and late by any time.
    t.ok(pause > 25 * 2 ** (i + 1) * 0.999 - 2, `pause ${i + 1}: ${pause} ms`)
  })
})

t.test('who stays busy is not asked for ever', async t => {
  fixRandom(t, 0)
  const { dynamo, sizes } = busy(() => 0)
  await t.rejects(writeBatches(dynamo, TABLE, deletions(1)), { code: 'database-unavailable' })
  t.ok(sizes.length > 5 && sizes.length < 20, `${sizes.length} tries`)
})

t.test('who may no longer write does not, not even what was left unprocessed', async t => {
  fixRandom(t, 0)
  const { dynamo, sizes } = busy(() => 0)
  let asked = 0
  const mayWrite = async () => {
    asked += 1
    if (asked === 4) throw new Error('no longer')
  }
  await t.rejects(writeBatches(dynamo, TABLE, deletions(1), mayWrite), { message: 'no longer' })
  t.equal(sizes.length, 3)
})

t.test('a failure ends it, whenever it comes, and nothing goes on after it', async t => {
  for (const fails of [1, 3, 16, 20, 40]) {
    let running = 0
    const { dynamo, sizes } = busy(async (batch, n) => {
      running += 1
      await new Promise(resolve => setTimeout(resolve, n === fails ? 0 : 3))
      running -= 1
      if (n === fails) throw new Error(`no ${n}`)
      return batch.length
    })
    /** Requests that take their time, as the next page of a query does. */
    const slow = async function* () {
      for await (const request of deletions(1000)) {
        if (request.DeleteRequest.Key.sk.endsWith('00')) await new Promise(resolve => setTimeout(resolve, 5))
        yield request
      }
    }
    await t.rejects(writeBatches(dynamo, TABLE, slow()), { message: `no ${fails}` })
    t.equal(running, 0)
    t.ok(sizes.length <= Math.min(fails + 24, 40), `${sizes.length} batches`)
  }
})
