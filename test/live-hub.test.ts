import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { createHub, type Feed, type Message } from '../src/live/hub.js'
import type { RealtimeEvent, StateView } from '../src/services/realtime-events.js'

/** One state in a store whose reads and whose news take their time, and come in any order. */

/** What a read gives: the value when it was asked for, the value when it is answered, or none. */
type Outcome = 'early' | 'late' | 'fails'

type Step =
  | { kind: 'set' | 'delete' | 'join' | 'come back' | 'leave' | 'recover' | 'tick' }
  | { kind: 'news'; which: number }
  | { kind: 'reads'; outcome: Outcome }

interface Heard {
  /** Which life of the state, and the version in it; no version if it is gone. */
  life?: number
  version?: number
}

async function play(steps: Step[]) {
  let clock = Date.parse('2026-01-31T12:00:00.000Z')
  const store: { state?: StateView; life: number } = { life: 0 }
  const news: { event: RealtimeEvent; at: number }[] = []
  const reads: ((outcome: Outcome) => void)[] = []
  const findState = () =>
    new Promise<StateView | undefined>((resolve, reject) => {
      const early = store.state
      reads.push(outcome => {
        if (outcome === 'fails') reject(new Error('throttled'))
        else resolve(outcome === 'early' ? early : store.state)
      })
    })
  let hasFailed = false
  const failed = () => {
    hasFailed = true
  }
  const hub = createHub({ findState, now: () => clock, failed, retryMs: 0 })
  const feeds: { feed: Feed; heard: Heard[] }[] = []

  const write = () => {
    const created = store.state === undefined
    if (created) store.life += 1
    const version = (store.state?.version ?? 0) + 1
    store.state = { name: 's', value: { life: store.life }, version, updatedAt: new Date(clock).toISOString() }
    news.push({ event: { kind: 'set', state: store.state, created }, at: clock })
  }
  const remove = () => {
    if (!store.state) return
    store.state = undefined
    news.push({ event: { kind: 'deleted', name: 's' }, at: clock })
  }
  /** A subscriber, new or with the newest that there is. */
  const join = (comesBack = false) => {
    const since = comesBack ? store.state : undefined
    const heard: Heard[] = since ? [{ life: store.life, version: since.version }] : []
    const send = ({ text }: Message) => {
      const { type, value, version } = JSON.parse(text)
      heard.push(type === 'deleted' ? {} : { life: value.life, version })
    }
    const feed = { name: 's', since, send }
    feeds.push({ feed, heard })
    hub.watch(feed)
  }
  const settleDown = async () => {
    for (let i = 0; i < 3; i++) await turn()
  }
  const answer = (outcome: Outcome) => reads.shift()?.(outcome)
  const tell = (which: number) => {
    const [one] = news.splice(which % (news.length || 1), 1)
    if (one) hub.receive(one.event as never, one.at)
  }

  for (const step of steps) {
    clock += 1
    if (step.kind === 'set') write()
    else if (step.kind === 'delete') remove()
    else if (step.kind === 'join') join()
    else if (step.kind === 'come back') join(true)
    else if (step.kind === 'leave') hub.unwatch(feeds.shift()?.feed ?? { name: 's', send: () => {} })
    else if (step.kind === 'recover') void hub.refresh()
    else if (step.kind === 'tick') clock += 1000
    else if (step.kind === 'news') tell(step.which)
    else if (step.kind === 'reads') answer(step.outcome)
    await settleDown()
  }
  while (news.length > 0 || reads.length > 0 || hasFailed) {
    tell(0)
    answer('late')
    await settleDown()
    // A read that has failed comes again a moment later, if anyone is left to want it.
    if (hasFailed) await sleep(3)
    hasFailed = false
  }
  return { feeds, final: store.state && { life: store.life, version: store.state.version } }
}

const which = fc.nat({ max: 20 })
const outcome = fc.constantFrom<Outcome>('early', 'early', 'late', 'late', 'fails')
const length = { maxLength: 60, size: 'max' } as const
const step = (kinds: string[]) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...kinds.map(kind => ({ kind }) as Step)) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('news' as const), which }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('reads' as const), outcome }) }
  )
const runs = { numRuns: 600, seed: 7, endOnFailure: false }

t.test('whatever comes when, versions rise, none comes twice, and the last is the newest', async t => {
  const steps = fc.array(step(['set', 'set', 'set', 'join', 'come back', 'leave', 'recover', 'tick']), length)
  await fc.assert(
    fc.asyncProperty(steps, async taken => {
      const { feeds, final } = await play(taken)
      for (const { heard } of feeds) {
        const versions = heard.map(({ version = 0 }) => version)
        if (versions.some((version, i) => i > 0 && version <= (versions[i - 1] as number))) {
          throw new Error(`${versions} do not rise`)
        }
        if ((versions.at(-1) ?? 0) !== (final?.version ?? 0)) throw new Error(`${versions} and then ${final?.version}`)
      }
    }),
    runs
  )
  t.pass('a thousand histories')
})

t.test('also if the state is deleted and begins anew, everyone ends on what there is', async t => {
  const steps = fc.array(step(['set', 'set', 'set', 'delete', 'join', 'come back', 'leave', 'recover']), length)
  await fc.assert(
    fc.asyncProperty(steps, async taken => {
      const { feeds, final } = await play(taken)
      for (const { heard } of feeds) {
        const [first] = heard
        if (first && first.version === undefined) throw new Error('the end of what it never had')
        const repeated = heard.some((one, i) => i > 0 && sameAs(one, heard[i - 1]))
        if (repeated) throw new Error(`${JSON.stringify(heard)} has one twice`)
        if (!sameAs(heard.at(-1), final)) throw new Error(`${JSON.stringify(heard)}, not ${JSON.stringify(final)}`)
      }
    }),
    runs
  )
  t.pass('a thousand histories')
})

const sameAs = (a: Heard | undefined, b: Heard | undefined) => a?.life === b?.life && a?.version === b?.version
