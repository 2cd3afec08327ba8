import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { projectShadow, type ShadowOptions, type Watch } from '../src/services/project-shadow.js'
import { shadowQueue } from '../src/services/shadow-queue.js'

t.test(
  'jobs of one project run in order, those of several side by side, and no more than there is room for',
  async t => {
    let pending = 0
    const queue = shadowQueue({
      limit: 6,
      atOnce: 2,
      pending(change) {
        pending += change
      }
    })
    const done: string[] = []
    let running = 0
    let most = 0
    const brief = () => sleep(0)
    let open = () => {}
    // A timer of its own, since waiting for a job keeps no process alive.
    const slow = () =>
      new Promise<void>(resolve => {
        const timer = setTimeout(resolve, 60_000)
        open = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    const job = (name: string, wait: () => Promise<void>) => async () => {
      running += 1
      most = Math.max(most, running)
      await wait()
      done.push(name)
      running -= 1
    }
    const taken = [
      queue.add('a', job('a1', slow)),
      queue.add('a', job('a2', brief)),
      queue.add('b', job('b1', brief)),
      queue.add('b', job('b2', brief)),
      queue.add('c', job('c1', brief)),
      queue.add('c', job('c2', brief)),
      queue.add('d', job('d1', brief))
    ]
    t.strictSame(taken, [true, true, true, true, true, true, false], 'the seventh finds no room')
    t.equal(pending, 6)
    await queue.settled('a', 5)
    t.notOk(done.includes('a1'), 'waiting has an end')
    open()
    await queue.settled('a', 5000)
    t.strictSame(
      done.filter(name => name.startsWith('a')),
      ['a1', 'a2']
    )
    t.strictSame(await queue.close(10_000), [], 'nothing is left')
    t.equal(done.length, 6)
    t.equal(most, 2)
    t.equal(pending, 0)
    t.strictSame(
      done.filter(name => name.startsWith('b')),
      ['b1', 'b2']
    )
  }
)

t.test('closing finishes what is pending, and tells of what it could not', async t => {
  const told: [string, object?][] = []
  const watch: Watch = {
    pending() {},
    write: (outcome, details) => void told.push([outcome, details]),
    compare: outcome => void told.push([outcome])
  }
  const none = { postgres: {}, lookups: {}, copies: {} } as Pick<ShadowOptions, 'postgres' | 'lookups' | 'copies'>
  const sides = { ...none, deleteProject: async () => {} }
  const patient = projectShadow({ ...sides, watch })
  const done: number[] = []
  for (let n = 0; n < 30; n++) {
    patient.write(`proj${n % 3}`, 'createProject', async () => {
      await sleep(2)
      done.push(n)
    })
  }
  await patient.close()
  t.strictSame(
    [...done].sort((a, b) => a - b),
    Array.from({ length: 30 }, (_, n) => n),
    'all were done before it was closed'
  )
  t.ok(told.length === 30 && told.every(([outcome]) => outcome === 'written'))

  told.length = 0
  const hasty = projectShadow({ ...sides, watch, closeMs: 30 })
  const never = () => new Promise<never>(() => {})
  hasty.write('proj1', 'createProject', async () => {})
  for (const project of ['stuck1', 'stuck1', 'stuck2']) hasty.write(project, 'createProject', never)
  await hasty.close()
  const reason = 'the server has stopped'
  t.strictSame(told, [
    ['written', undefined],
    ['dropped', { project: 'stuck1', reason }],
    ['dropped', { project: 'stuck1', reason }],
    ['dropped', { project: 'stuck2', reason }]
  ])
})
