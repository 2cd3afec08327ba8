import { setTimeout as sleep } from 'node:timers/promises'
import type { RealtimeEvent, StateView } from '../services/realtime-events.js'

/** A state as subscribers hear of it, written out once for all of them. */
export interface Message {
  name: string
  /** Nothing if the state is gone. */
  version?: number
  text: string
  /** When it was written, as far as we know, in epoch milliseconds. */
  at?: number
}

/** What a subscriber has already: a version, and if it says so the time, which tells apart two lives of a state. */
export interface Since {
  version: number
  updatedAt?: string
}

/** One subscriber's ear for one state. */
export interface Feed {
  name: string
  since?: Since
  send(message: Message): void
}

interface Subscriber {
  feed: Feed
  /** Not told anything yet: the read that begins it must begin after it came. */
  firstRead?: number
  /** What it has got: a version, and of which life of the state. */
  version: number
  life: number
}

/** A state that someone on this node listens to. */
interface Watch {
  name: string
  subscribers: Map<Feed, Subscriber>
  current?: StateView
  /** Goes up when the state is gone or begins anew, since then versions no longer compare. */
  life: number
  /** How many reads have begun. */
  reads: number
  isReading: boolean
  /** Something happened during the read that the read may not have seen. */
  readAgain: boolean
  /** The newest value that was announced during the read. */
  heard?: { state: StateView; at: number }
  /** When what the next read will find was announced. */
  announcedAt?: number
  /** Until then announcements may be of another life of the state, and are taken as a reason to read. */
  doubtUntil: number
}

type StateEvent = Extract<RealtimeEvent, { kind: 'set' | 'deleted' }> | { kind: 'changed'; name: string }

const NONE = -1
const DOUBT_MS = 5000
const READS_AT_ONCE = 16
const MAX_RETRY_MS = 5000

export interface HubOptions {
  findState(name: string): Promise<StateView | undefined>
  now: () => number
  /** A state could not be read; it is tried again. */
  failed(error: unknown): void
  /** How long until then at first; it doubles each time. */
  retryMs?: number
}

/**
 * Brings the states of this node's subscribers to them: versions rise and none comes twice. Announcements are trusted
 * as long as versions compare; at a beginning, an end or a gap, or when one comes late, the state itself is read, which
 * is always right.
 */
export function createHub({ findState, now, failed, retryMs = 100 }: HubOptions) {
  const watches = new Map<string, Watch>()
  let isClosed = false

  function watch(feed: Feed): void {
    const found: Watch = watches.get(feed.name) ?? {
      name: feed.name,
      subscribers: new Map(),
      life: 0,
      reads: 0,
      isReading: false,
      readAgain: false,
      doubtUntil: 0
    }
    watches.set(feed.name, found)
    found.subscribers.set(feed, { feed, firstRead: found.reads + 1, version: NONE, life: found.life })
    void read(found)
  }

  function unwatch(feed: Feed): void {
    const found = watches.get(feed.name)
    found?.subscribers.delete(feed)
    if (found?.subscribers.size === 0) watches.delete(feed.name)
  }

  function receive(event: StateEvent, at: number): void {
    const name = event.kind === 'set' ? event.state.name : event.name
    const found = watches.get(name)
    if (!found) return
    const isAnew = event.kind === 'deleted' || (event.kind === 'set' && event.created && found.current !== undefined)
    if (isAnew) Object.assign(found, { doubtUntil: now() + DOUBT_MS, heard: undefined })
    const isKnown = found.current !== undefined && now() >= found.doubtUntil
    if (event.kind !== 'set' || event.created || !isKnown) void read(found, at)
    else if (!found.isReading) advance(found, event.state, at)
    else if (!found.heard || event.state.version > found.heard.state.version) found.heard = { state: event.state, at }
  }

  /** Reads the state, again if need be, and tells whoever has not got it. One read at a time for a state. */
  async function read(found: Watch, at?: number): Promise<void> {
    found.readAgain = true
    found.announcedAt ??= at
    if (found.isReading) return
    found.isReading = true
    for (let failures = 0; found.readAgain && found.subscribers.size > 0 && !isClosed; ) {
      found.readAgain = false
      found.reads += 1
      const { announcedAt } = found
      found.announcedAt = undefined
      try {
        settle(found, await findState(found.name), announcedAt)
        failures = 0
      } catch (error) {
        failed(error)
        found.readAgain = true
        await sleep(Math.min(retryMs * 2 ** failures++, MAX_RETRY_MS), undefined, { ref: false })
      }
    }
    found.isReading = false
    const { heard } = found
    found.heard = undefined
    if (heard) advance(found, heard.state, heard.at)
  }

  /** Takes what was read as the truth, also if it is another life of the state. */
  function settle(found: Watch, state: StateView | undefined, at?: number): void {
    const before = found.current
    const goesOn =
      !before ||
      (state && (state.version > before.version || (state.version === before.version && sameTime(state, before))))
    if (!goesOn) found.life += 1
    found.current = state
    tell(found, at)
  }

  /** Takes what was announced, unless it is of before. A higher version of an earlier time may be of another life. */
  function advance(found: Watch, state: StateView, at: number): void {
    const { current } = found
    if (current && state.version <= current.version) return
    if (!current || isOlder(state, current)) return void read(found, at)
    found.current = state
    tell(found, at)
  }

  function tell(found: Watch, at?: number): void {
    const message = once(() => messageOf(found.name, found.current, at))
    const version = found.current?.version ?? NONE
    for (const subscriber of found.subscribers.values()) {
      if (subscriber.firstRead !== undefined && subscriber.firstRead > found.reads) continue
      const isNews = isNewsTo(subscriber, found)
      Object.assign(subscriber, { firstRead: undefined, version, life: found.life })
      if (isNews) subscriber.feed.send(message())
    }
  }

  /** Reads all states that are watched, some at a time: after a gap, or those that have expired. */
  async function refresh(wanted: (state: StateView | undefined) => boolean = () => true): Promise<void> {
    const names = [...watches.values()].filter(({ current }) => wanted(current))
    const next = async (): Promise<void> => {
      for (let found = names.pop(); found; found = names.pop()) await read(found)
    }
    await Promise.all(Array.from({ length: READS_AT_ONCE }, next))
  }

  /** The end of a state by its `ttl` is announced by no one. */
  const expire = () => refresh(state => state?.ttl !== undefined && state.ttl * 1000 <= now())
  const close = () => {
    isClosed = true
  }

  return { watch, unwatch, receive, refresh, expire, close }
}

export type Hub = ReturnType<typeof createHub>

/** To a newcomer anything but what it has is news, and so is it that the state it knew is gone. */
function isNewsTo({ firstRead, feed, version: has, life: known }: Subscriber, { current, life }: Watch): boolean {
  const version = current?.version ?? NONE
  if (firstRead === undefined) return known === life ? version > has : version !== NONE || has !== NONE
  const { since } = feed
  if (version !== (since?.version ?? NONE)) return true
  return since?.updatedAt !== undefined && since.updatedAt !== current?.updatedAt
}

const isOlder = (a: StateView, b: StateView) => (a.updatedAt ?? '') < (b.updatedAt ?? '')
const sameTime = (a: StateView, b: StateView) => a.updatedAt === b.updatedAt

function messageOf(name: string, state: StateView | undefined, at?: number): Message {
  if (!state) return { name, text: JSON.stringify({ type: 'deleted', name }), at }
  const { value, version, updatedAt } = state
  return { name, version, text: JSON.stringify({ type: 'value', name, value, version, updatedAt }), at }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
