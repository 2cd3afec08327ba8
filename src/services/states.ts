import type { Dynamo } from '../dynamo/client.js'
import type { Item } from '../dynamo/values.js'
import { type Amendment, amended, attempt, stillAs } from '../dynamo/write.js'
import { lifeAt, type RealtimeEntities } from '../entities/realtime.js'
import { etagOf, tagsOf } from '../etag.js'
import { Problem } from '../problems.js'
import type { Preconditions } from './context.js'
import type { RealtimeContext, StateView } from './realtime-events.js'
import { assertFuture, secondsOf } from './ttl.js'

export const stateNotFound = (name: string) => new Problem('state-not-found', `There is no state ${name}`)

/**
 * A state's entity tag: its version and time, which a write can demand of DynamoDB without reading first, and a hash,
 * so that a reader also sees what others changed without counting it.
 */
export function stateTag(state: StateView): string {
  const hash = etagOf(state).slice(1, -1)
  return `"${state.version}/${encodeURIComponent(state.updatedAt ?? '')}/${hash}"`
}

const MAX_TRIES = 8

const TAG = /^"\d+\/[^/"]*\/[\w-]{27}"$/
/** The tag of a state as we write it. Others may have left a version without a time, or a time of another form. */
const OURS = /^"([1-9]\d{0,14})\/(\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d\.\d{3}Z)\/[\w-]{27}"$/

/** The highest version that another can follow. */
const MOST = Number.MAX_SAFE_INTEGER - 1
const isCount = (version: unknown): version is number =>
  Number.isInteger(version) && (version as number) >= 0 && (version as number) <= MOST

const versions = { names: { '#version': 'version' } }
const isCounted = '#version BETWEEN :zero AND :most'
/** The version goes up by one, if there is one or none. */
const COUNTED: Amendment = {
  ...versions,
  set: '#version = if_not_exists(#version, :zero) + :one',
  condition: `attribute_not_exists(#version) OR ${isCounted}`,
  values: { ':zero': 0, ':one': 1, ':most': MOST }
}
/** What stands for a version is none. */
const ANEW: Amendment = {
  ...versions,
  set: '#version = :one',
  condition: `attribute_exists(#version) AND NOT ${isCounted}`,
  values: COUNTED.values
}

/** The actions on states. */
export function stateActions(dynamo: Dynamo, { entities: { state } }: RealtimeEntities, context: RealtimeContext) {
  const { now, publish } = context

  const present = ({ value = null, version, ...item }: Omit<StateView, 'value' | 'version'> & Item): StateView => ({
    name: item.name,
    value,
    version: isCount(version) ? version : 0,
    ...(item.updatedAt === undefined ? {} : { updatedAt: item.updatedAt }),
    ...(item.ttl === undefined ? {} : { ttl: item.ttl })
  })
  /** An image that a write gave back; nothing if it has expired. */
  const parse = (image: Item | undefined) => {
    const { data } = image ? state.parse({ Item: image as never }) : { data: null }
    return data ? present(data as StateView & Item) : undefined
  }

  async function findState(name: string): Promise<StateView | undefined> {
    const { data } = await state.get({ name }).go({ consistent: true })
    return data ? present(data as StateView & Item) : undefined
  }

  async function getState(name: string): Promise<StateView> {
    const found = await findState(name)
    if (!found) throw stateNotFound(name)
    return found
  }

  /** The condition that If-Match or If-None-Match puts on a write. */
  async function demanded(name: string, { ifMatch, ifNoneMatch }: Preconditions): Promise<Amendment[]> {
    const { isLive, isGone, ...life } = lifeAt(secondsOf(now))
    if (ifNoneMatch !== undefined) return [{ condition: isGone, ...life }]
    if (ifMatch === undefined) return []
    const live = { condition: isLive, ...life }
    if (ifMatch.trim() === '*') return [live]
    const tags = tagsOf(ifMatch)
    if (tags.some(tag => TAG.test(tag) && !OURS.test(tag))) return [live, await demandUnversioned(name, tags)]
    const ours = tags.map(tag => OURS.exec(tag)).filter(match => match !== null)
    if (ours.length === 0) throw new Problem('precondition-failed')
    return [live, demandVersions(ours.map(([, version, at]) => [Number(version), decodeURIComponent(at ?? '')]))]
  }

  function demandVersions(wanted: [version: number, updatedAt: string][]): Amendment {
    return {
      condition: wanted.map((_, i) => `#version = :version${i} AND #updatedAt = :at${i}`).join(' OR '),
      names: { '#version': 'version', '#updatedAt': 'updatedAt' },
      values: Object.fromEntries(wanted.flatMap(([v, at], i) => [[`:version${i}`, v] as const, [`:at${i}`, at]]))
    }
  }

  /** A state of others has no version and time to demand: it is read, and must still be the same when it is written. */
  async function demandUnversioned(name: string, tags: string[]): Promise<Amendment> {
    const { data } = await state.get({ name }).go({ consistent: true })
    if (!data || !tags.includes(stateTag(present(data as StateView & Item)))) throw new Problem('precondition-failed')
    return stillAs(data, ['value', 'version', 'updatedAt', 'ttl'])
  }

  /** One update: the version goes up by one, also over an expired state that is still stored. */
  async function setState(name: string, { value, ttl }: { value: unknown; ttl?: number }, demands: Preconditions = {}) {
    assertFuture(ttl, now)
    const updatedAt = new Date(now()).toISOString()
    const remove = ttl === undefined ? ['ttl'] : []
    const params = state.upsert({ name, value, updatedAt, ttl }).params({ response: 'all_old' })
    const { version, before } = await count(params, [{ remove }, ...(await demanded(name, demands))])
    const written: StateView = present({ name, value, version, updatedAt, ttl })
    const created = parse(before) === undefined
    publish({ kind: 'set', state: written, created })
    return { created, state: written }
  }

  /** Sends an update that counts. What others may have left in the place of a version is none: it begins anew. */
  async function count(params: object, others: Amendment[]): Promise<{ version: number; before?: Item }> {
    let isAnew = false
    for (let attempts = 0; attempts < MAX_TRIES; attempts++) {
      const update = amended(params, isAnew ? ANEW : COUNTED, ...others)
      const { rejected, before } = await attempt(dynamo, 'UpdateItem', update)
      const last = before?.version
      if (!rejected) return { version: !isAnew && isCount(last) ? last + 1 : 1, before }
      const isOdd = last !== undefined && !isCount(last)
      if (isOdd === isAnew) throw new Problem('precondition-failed')
      isAnew = isOdd
    }
    throw new Problem('concurrent-changes')
  }

  async function deleteState(name: string, { ifMatch }: Preconditions = {}): Promise<void> {
    const conditions = await demanded(name, { ifMatch: ifMatch ?? '*' }).catch(async refused => {
      // What is not there is 404, whatever If-Match says.
      await getState(name)
      throw refused
    })
    const params = amended(state.delete({ name }).params(), ...conditions)
    const { rejected, before } = await attempt(dynamo, 'DeleteItem', params)
    if (rejected) throw parse(before) ? new Problem('precondition-failed') : stateNotFound(name)
    publish({ kind: 'deleted', name })
  }

  return { findState, getState, setState, deleteState }
}
