import { commit } from '../dynamo/transact.js'
import type { LayerEntities } from '../entities/layers.js'
import { invalid, Problem } from '../problems.js'
import type { ServiceContext } from './context.js'
import {
  all,
  assertRoom,
  contentOf,
  expiryAfter,
  hasStatus,
  insist,
  isAt,
  isFree,
  isHeld,
  type NewLayer,
  otherwise,
  packageName,
  presentLayer,
  type Release,
  type StoredContent,
  type StoredLayer,
  where
} from './layer-values.js'
import type { InTurn } from './turns.js'

interface Lookups {
  inTurn: InTurn
  findPointer(region: string, name: string): Promise<StoredLayer | undefined>
}

const isNotLatest = where(({ dplySts }, { notExists, ne }) => `${notExists(dplySts)} OR ${ne(dplySts, 'latest')}`)

/** Publishing a layer: one transaction moves the pointer, puts the row and deprecates the one before. */
export function layerPublishing(
  entities: LayerEntities,
  { expiryDays }: { expiryDays: number },
  { now }: ServiceContext,
  { findPointer, inTurn }: Lookups
) {
  async function insertLayer(request: NewLayer) {
    const { region: rgn, arn } = request
    const pckg = packageName(request.package)
    if (arn.split(':')[3] !== rgn) throw invalid('body/arn', `must be of the region ${rgn}`)
    const content = { arn, ...contentOf(request) }
    return inTurn(JSON.stringify([rgn, pckg]), () => insertNext(rgn, pckg, content))
  }

  /** Who comes second takes the next number. */
  async function insertNext(rgn: string, pckg: string, content: StoredContent & { arn: string }) {
    let pointer = await findPointer(rgn, pckg)
    let previous = releaseBy(pointer)

    return insist(async () => {
      const version = (pointer?.lyrVrsn ?? 0) + 1
      const item = { rgn, pckg, lyrVrsn: version, ...content, crtdDt: new Date(now()).toISOString() }
      assertRoom(item)
      const cancelled = await publish(item, pointer, previous)
      if (!cancelled) return presentLayer({ ...item, dplySts: 'latest' })
      const [moved, , deprecated] = cancelled
      if (moved?.rejected) {
        pointer = (moved.item as StoredLayer | null) ?? undefined
        previous = releaseBy(pointer)
      } else if (deprecated?.rejected) {
        previous = otherwise(previous)
      } else {
        throw new Problem('concurrent-changes', `Version ${version} of ${pckg} is there already, ahead of the pointer`)
      }
      return undefined
    })
  }

  /** One transaction; it holds only if the pointer is still where it was. */
  function publish(item: StoredLayer, pointer: StoredLayer | undefined, previous: Release) {
    const { rgn, pckg, lyrVrsn } = item
    const { rgn: _region, pckg: _package, ...latest } = { ...item, lyrVrsn }
    const before = { rgn, pckg, lyrVrsn: lyrVrsn - 1 }
    return commit(
      entities.transaction.write(({ layer, latestLayer }) => {
        const change = () => layer.patch(before).set({ dplySts: 'deprecated' })
        const deprecations = {
          expires: () =>
            change()
              .set({ exDt: expiryAfter(now(), expiryDays) })
              .where(all(hasStatus('latest'), isFree))
              .commit(),
          stays: () =>
            change()
              .where(all(hasStatus('latest'), isHeld))
              .commit(),
          absent: () => layer.check(before).where(isNotLatest).commit()
        }
        return [
          pointer
            ? latestLayer
                .patch({ rgn, pckg })
                .set(latest)
                .remove(['deleted_date'])
                .where(isAt(pointer.lyrVrsn))
                .commit({ response: 'all_old' })
            : latestLayer.create({ ...item }).commit({ response: 'all_old' }),
          layer.create({ ...item, dplySts: 'latest' } as never).commit(),
          ...(lyrVrsn > 1 ? [deprecations[previous]()] : [])
        ]
      })
    )
  }

  return { insertLayer }
}

/** What the version before the next is most likely to need. */
const releaseBy = (pointer: StoredLayer | undefined): Release =>
  pointer?.deleted_date === undefined ? 'expires' : 'absent'
