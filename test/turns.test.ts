import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createTurns } from '../src/services/turns.js'

t.test('those of one key take turns in the order in which they came, others do not wait', async t => {
  const inTurn = createTurns()
  const order: string[] = []
  const act = (key: string, name: string, ms: number) =>
    inTurn(key, async () => {
      order.push(`${name} begins`)
      await sleep(ms)
      order.push(`${name} ends`)
      return name
    })
  const results = await Promise.all([act('a', 'first', 30), act('a', 'second', 1), act('b', 'other', 1)])
  t.strictSame(results, ['first', 'second', 'other'])
  t.strictSame(order.slice(0, 2), ['first begins', 'other begins'])
  t.strictSame(
    order.filter(line => !line.startsWith('other')),
    ['first begins', 'first ends', 'second begins', 'second ends']
  )
})

t.test('a failure is its caller’s alone', async t => {
  const inTurn = createTurns()
  const failing = inTurn('a', () => Promise.reject(new Error('broken')))
  const next = inTurn('a', async () => 'done')
  await t.rejects(failing, { message: 'broken' })
  t.equal(await next, 'done')
  t.equal(await inTurn('a', async () => 'again'), 'again')
})

t.test('who has waited too long goes ahead', async t => {
  const inTurn = createTurns(20)
  let release = () => {}
  const stuck = inTurn('a', () => new Promise<void>(done => (release = done)))
  t.equal(await inTurn('a', async () => 'ahead'), 'ahead')
  release()
  await stuck
})
