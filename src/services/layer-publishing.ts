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
  packageName,
  presentLayer,
  type StoredLayer,
  where
} from './layer-values.js'

interface Lookups {
  findPointer(region: string, name: string): Promise<StoredLayer | undefined>
}

/** What becomes of the version before: it expires, or stays because a channel holds it, or is not there to change. */
type Previous = 'expires' | 'stays' | 'absent'

const isNotLatest = where(({ dplySts }, { notExists, ne }) => `${notExists(dplySts)} OR ${ne(dplySts, 'latest')}`)

/** Publishing a layer: one transaction moves the pointer, puts the row and deprecates the one before. */
export function layerPublishing(
  entities: LayerEntities,
  { expiryDays }: { expiryDays: number },
  { now }: ServiceContext,
  { findPointer }: Lookups
) {
  async function insertLayer(request: NewLayer) {
    const { region: rgn, arn } = request
    const pckg = packageName(request.package)
    if (arn.split(':')[3] !== rgn) throw invalid('body/arn', `must be of the region ${rgn}`)
    const content = { arn, ...contentOf(request) }
    let pointer = await findPointer(rgn, pckg)
    let previous = previousOf(pointer)

    return insist(async () => {
      const version = (pointer?.lyrVrsn ?? 0) + 1
      const item = { rgn, pckg, lyrVrsn: version, ...content, crtdDt: new Date(now()).toISOString() }
      assertRoom(item)
      const cancelled = await publish(item, pointer, previous)
      if (!cancelled) return presentLayer({ ...item, dplySts: 'latest' })
      const [moved, , deprecated] = cancelled
      if (moved?.rejected) {
        pointer = (moved.item as StoredLayer | null) ?? undefined
        previous = previousOf(pointer)
      } else if (deprecated?.rejected) {
        previous = previousOf(pointer, deprecated.item as unknown as StoredLayer | null)
      } else {
        throw new Problem('concurrent-changes', `Version ${version} of ${pckg} is there already, ahead of the pointer`)
      }
      return undefined
    })
  }

  /** One transaction; it holds only if the pointer is still where it was. */
  function publish(item: StoredLayer, pointer: StoredLayer | undefined, previous: Previous) {
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
              .commit({ response: 'all_old' }),
          stays: () =>
            change()
              .where(all(hasStatus('latest'), isHeld))
              .commit({ response: 'all_old' }),
          absent: () => layer.check(before).where(isNotLatest).commit({ response: 'all_old' })
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

/** A guess from the pointer at first; what stood in the way, then. */
function previousOf(pointer: StoredLayer | undefined, row?: StoredLayer | null): Previous {
  if (row === undefined) return pointer?.deleted_date === undefined ? 'expires' : 'absent'
  if (row?.dplySts !== 'latest') return 'absent'
  return row.chnls ? 'stays' : 'expires'
}
