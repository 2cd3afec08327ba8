import { unchanged } from '../dynamo/conditions.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { commit } from '../dynamo/transact.js'
import type { LayerEntities } from '../entities/layers.js'
import { assertMatch } from '../etag.js'
import { invalid, Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import {
  all,
  type Condition,
  expiryAfter,
  insist,
  isActive,
  isAlive,
  isAt,
  layerNotFound,
  otherwise,
  packageName,
  type Release,
  where
} from './layer-values.js'

interface StoredChannel {
  rgn: string
  pckg: string
  chnl: string
  lyrVrsn: number
  uptdDt: string
}

/** The layer entity as a transaction offers it. */
type Layer = Parameters<Parameters<LayerEntities['transaction']['write']>[0]>[0]['layer']

const channelNotFound = (name: string) =>
  new Problem('channel-not-found', `There is no channel ${name} of this package`)

const present = ({ chnl, rgn, pckg, lyrVrsn, uptdDt }: StoredChannel) => ({
  name: chnl,
  region: rgn,
  package: pckg,
  version: lyrVrsn,
  updatedAt: uptdDt
})

/** The channel as it was read; pointed anew at the same version it is another, with another tag. */
const isStill =
  (before: StoredChannel): Condition =>
  (attributes, operations) => {
    const isUnmoved = unchanged(['uptdDt'], { ...before }) as Condition
    return `(${isAt(before.lyrVrsn)(attributes, operations)}) AND ${isUnmoved(attributes, operations)}`
  }

/** Whether a channel's name can be put into what stands there; others may have stored no set of texts. */
const canHold = where(({ chnls }, { notExists, type }) => `${notExists(chnls)} OR ${type(chnls, 'SS')}`)

/** Channels such as `lts`: names for versions that do not expire while a channel holds them. */
export function channelActions(
  entities: LayerEntities,
  { expiryDays }: { expiryDays: number },
  { cursors, now }: ServiceContext
) {
  const { channel } = entities.entities

  async function findChannel(region: string, name: string, chnl: string): Promise<StoredChannel | undefined> {
    const key = { rgn: region, pckg: packageName(name), chnl }
    const { data } = await channel.get(key).go({ consistent: true })
    return data ? { ...data, ...key } : undefined
  }

  async function getChannel(region: string, name: string, chnl: string) {
    const found = await findChannel(region, name, chnl)
    if (!found) throw channelNotFound(chnl)
    return present(found)
  }

  async function listChannels(region: string, name: string, request: PageRequest) {
    const pckg = packageName(name)
    const page = await readPage(cursors, ['channels', region, pckg], request, options =>
      channel.query.byPackage({ rgn: region, pckg }).go(options)
    )
    return { ...page, items: page.items.map(present) }
  }

  /** Points a channel at a version: it holds that one from now on, and lets go of the one before. */
  async function putChannel(
    region: string,
    name: string,
    chnl: string,
    { version }: { version: number },
    { ifMatch, ifNoneMatch }: Preconditions = {}
  ) {
    if (chnl === 'latest') throw invalid('params/name', 'cannot be latest, which only publishing moves')
    const key = { rgn: region, pckg: packageName(name), chnl }
    let release: Release = 'expires'
    return insist(async () => {
      const before = await findChannel(region, name, chnl)
      if (ifMatch !== undefined) assertMatch(ifMatch, before && present(before))
      if (ifNoneMatch !== undefined && before) throw new Problem('precondition-failed')
      const item = { ...key, lyrVrsn: version, uptdDt: new Date(now()).toISOString() }
      const cancelled = await move(item, before, release)
      if (!cancelled) return { created: !before, channel: present(item) }
      const [moved, held, released] = cancelled
      if (held?.rejected) throw layerNotFound(region, name, version)
      if (moved?.rejected && (ifMatch ?? ifNoneMatch) !== undefined) throw new Problem('precondition-failed')
      if (released?.rejected) release = otherwise(release)
      return undefined
    })
  }

  function move(item: StoredChannel, before: StoredChannel | undefined, release: Release) {
    const { chnl, lyrVrsn, uptdDt, ...owner } = item
    return commit(
      entities.transaction.write(({ channel, layer }) => [
        before
          ? channel
              .patch({ ...owner, chnl })
              .set({ lyrVrsn, uptdDt })
              .where(isStill(before))
              .commit()
          : channel.create(item).commit(),
        layer
          .patch({ ...owner, lyrVrsn })
          .add({ chnls: [chnl] })
          .remove(['exDt'])
          .where(all(isActive, isAlive(now()), canHold))
          .commit(),
        ...(before && before.lyrVrsn !== lyrVrsn ? [letGo(layer, before, release)] : [])
      ])
    )
  }

  /** Takes a channel's name off a version; a deprecated one that nothing else keeps starts to expire. */
  function letGo(layer: Layer, { chnl, uptdDt: _at, ...version }: StoredChannel, release: Release) {
    const names = where(({ chnls }, { contains, type }) => `${type(chnls, 'SS')} AND ${contains(chnls, chnl)}`)
    const isLast = where(
      ({ chnls, dplySts, kept }, { size, escape: literal, eq, ne, notExists }) =>
        `${size(chnls)} = ${literal(1)} AND ${eq(dplySts, 'deprecated')} AND (${notExists(kept)} OR ${ne(kept, true)})`
    )
    const isNotLast = where(
      ({ chnls, dplySts, kept }, { size, escape: literal, eq, ne, notExists }) =>
        `${size(chnls)} > ${literal(1)} OR ${notExists(dplySts)} OR ${ne(dplySts, 'deprecated')} OR ${eq(kept, true)}`
    )
    const isNot = where(({ chnls }, { contains, type }) => `NOT ${type(chnls, 'SS')} OR NOT ${contains(chnls, chnl)}`)
    const change = () => layer.patch(version).delete({ chnls: [chnl] })
    const releases = {
      expires: () =>
        change()
          .set({ exDt: expiryAfter(now(), expiryDays) })
          .where(all(names, isLast))
          .commit(),
      stays: () => change().where(all(names, isNotLast)).commit(),
      absent: () => layer.check(version).where(isNot).commit()
    }
    return releases[release]()
  }

  async function deleteChannel(region: string, name: string, chnl: string, { ifMatch }: Preconditions = {}) {
    let release: Release = 'expires'
    await insist(async () => {
      const before = await findChannel(region, name, chnl)
      if (!before) throw channelNotFound(chnl)
      if (ifMatch !== undefined) assertMatch(ifMatch, present(before))
      const { rgn, pckg } = before
      const cancelled = await commit(
        entities.transaction.write(({ channel, layer }) => [
          channel.remove({ rgn, pckg, chnl }).where(isStill(before)).commit(),
          letGo(layer, before, release)
        ])
      )
      if (!cancelled) return true
      if (cancelled[1]?.rejected) release = otherwise(release)
      return undefined
    })
  }

  return { getChannel, listChannels, putChannel, deleteChannel }
}
