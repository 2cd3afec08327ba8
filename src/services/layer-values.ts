import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { unchanged } from '../dynamo/conditions.js'
import { assertItemSize, marshal } from '../dynamo/values.js'
import { invalid, Problem } from '../problems.js'

/** What layers and builds share: their content, how it is shown, and how publishers take turns. */

export interface NewBuild {
  package: string
  packageVersion: string
  requirementsTxt: string
  requirementsHash?: string
}

export interface NewLayer extends NewBuild {
  region: string
  arn: string
}

export interface StoredContent {
  pckgVrsn?: string
  requirementsTxt?: string
  requirementsHsh?: string
  crtdDt?: string
}

export interface StoredLayer extends StoredContent {
  rgn: string
  pckg: string
  lyrVrsn: number
  arn?: string
  dplySts?: 'latest' | 'deprecated'
  exDt?: number
  deleted_date?: string
  chnls?: Iterable<string>
  kept?: boolean
}

export interface StoredBuild extends StoredContent {
  pckg: string
  bltVrsn: number
}

/** DynamoDB's epoch seconds, or another program's text, as ISO 8601; nothing if it is no time at all. */
function isoTime(stored: unknown): string | undefined {
  if (typeof stored === 'string') return stored
  if (typeof stored !== 'number') return undefined
  const time = new Date(stored * 1000)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

const presentContent = (item: StoredContent) => ({
  packageVersion: item.pckgVrsn,
  requirementsTxt: item.requirementsTxt,
  requirementsHash: item.requirementsHsh,
  createdAt: isoTime(item.crtdDt)
})

export const channelsOf = ({ chnls }: StoredLayer): string[] => [...(chnls ?? [])].sort()

/** A layer as the API shows it: without a deployment status it is deleted. */
export function presentLayer(item: StoredLayer) {
  const channels = channelsOf(item)
  return {
    region: item.rgn,
    package: item.pckg,
    version: item.lyrVrsn,
    arn: item.arn,
    ...presentContent(item),
    status: item.dplySts ?? ('deleted' as const),
    expiresAt: isoTime(item.exDt),
    deletedAt: isoTime(item.deleted_date),
    channels: channels.length ? channels : undefined
  }
}

export const presentBuild = (item: StoredBuild) => ({
  package: item.pckg,
  version: item.bltVrsn,
  ...presentContent(item)
})

/** The name without its extras: `requests[security]` is a build of `requests`. */
export const packageName = (name: string) => name.replace(/\s*\[[^\]]*\]$/, '')

/** The SHA-256 of a text, in hexadecimal. */
export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** What is stored of a request's content; the hash of the text is ours to make, and the caller's to confirm. */
export function contentOf({ packageVersion, requirementsTxt, requirementsHash }: NewBuild) {
  const requirementsHsh = hashOf(requirementsTxt)
  if (requirementsHash !== undefined && requirementsHash.toLowerCase() !== requirementsHsh) {
    throw invalid('body/requirementsHash', 'must be the SHA-256 of requirementsTxt in hexadecimal')
  }
  return { pckgVrsn: packageVersion, requirementsTxt, requirementsHsh }
}

/** For the fixed text of a row's keys, its status, and what it may get later: an expiry, a deletion, some channels. */
const RESERVED_BYTES = 256

/** Refuses a row that could not be deprecated later, since it would stand in the way of the next publisher. */
export function assertRoom(item: { rgn: string; pckg: string }): void {
  const reserve = '.'.repeat(RESERVED_BYTES + item.rgn.length + item.pckg.length)
  assertItemSize(marshal({ ...item, reserve }))
}

export const layerNotFound = (region: string, name: string, version?: number) =>
  new Problem(
    'layer-not-found',
    version === undefined
      ? `There is no layer of ${name} in ${region}`
      : `${name} has no version ${version} in ${region}`
  )

/** ElectroDB's parts of a `where`; its references are opaque, and typed anew for each entity. */
// biome-ignore lint/suspicious/noExplicitAny: as above
type Operation = (...parts: any[]) => string
// biome-ignore lint/suspicious/noExplicitAny: as above
type Attributes = Record<string, any>
type Operations = Record<
  'eq' | 'ne' | 'gt' | 'contains' | 'size' | 'escape' | 'exists' | 'notExists' | 'type',
  Operation
>
export type Condition = (attributes: object, operations: object) => string

/** The condition that holds when all of them do. */
export const all =
  (...conditions: (Condition | undefined)[]): Condition =>
  (attributes, operations) =>
    conditions
      .filter(condition => condition !== undefined)
      .map(condition => `(${condition(attributes, operations)})`)
      .join(' AND ')

/** The condition that some of what ElectroDB offers makes. */
export const where =
  (condition: (attributes: Attributes, operations: Operations) => string): Condition =>
  (attributes, operations) =>
    condition(attributes as Attributes, operations as Operations)

/** A version that has not expired, although DynamoDB may not have deleted it yet. */
export const isAlive = (now: number) =>
  where(({ exDt }, { type, gt }) => `NOT ${type(exDt, 'N')} OR ${gt(exDt, now / 1000)}`)

export const hasStatus = (status: 'latest' | 'deprecated') => where(({ dplySts }, { eq }) => eq(dplySts, status))

/** The row of the version, or a pointer or channel that is at it. */
export const isAt = (version: number) =>
  where(({ lyrVrsn }, { eq, type }) =>
    version === 0 ? `NOT ${type(lyrVrsn, 'N')} OR ${eq(lyrVrsn, 0)}` : eq(lyrVrsn, version)
  )

export const isActive = where(({ dplySts }, { exists }) => exists(dplySts))
export const isHeld = where(({ chnls }, { type }) => type(chnls, 'SS'))
export const isFree = where(({ chnls }, { type }) => `NOT ${type(chnls, 'SS')}`)

/**
 * What becomes of a version that is the latest no more, or that a channel lets go: it expires, or stays because something
 * else keeps it, or there is nothing to change. One of the three always holds, whatever others have stored.
 */
export type Release = 'expires' | 'stays' | 'absent'

const NEXT: Record<Release, Release> = { expires: 'stays', stays: 'absent', absent: 'expires' }

/** What to try after a release whose condition did not hold. */
export const otherwise = (release: Release) => NEXT[release]

/** The condition that a version is what it was when it was read. */
export function stillSo(seen: StoredLayer): Condition {
  const channels = channelsOf(seen)
  const sameChannels = where(({ chnls }, { contains, size, escape: literal }) =>
    [`${size(chnls)} = ${literal(channels.length)}`, ...channels.map(name => contains(chnls, name))].join(' AND ')
  )
  const same = unchanged(['dplySts', 'exDt', 'deleted_date', 'kept'], { ...seen }) as Condition
  return all(same, channels.length ? sameChannels : isFree)
}

const DAY_SECONDS = 24 * 60 * 60

/** When (epoch seconds) what is deprecated now expires. */
export const expiryAfter = (now: number, days: number) => Math.floor(now / 1000 + days * DAY_SECONDS)

const MAX_TRIES = 300
const MAX_WAIT_MS = 50

/**
 * Tries until the attempt gives something. Each round of a race has a winner, but luck is not spread evenly. Who has lost
 * often waits no longer than who has just come, or newcomers would always be first.
 */
export async function insist<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const result = await attempt()
    if (result !== undefined) return result
    await sleep(Math.random() * Math.min(5 * 2 ** tries, MAX_WAIT_MS))
  }
  throw new Problem('concurrent-changes')
}
