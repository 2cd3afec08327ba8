import { commit } from '../dynamo/transact.js'
import type { LayerEntities } from '../entities/layers.js'
import { assertMatch } from '../etag.js'
import { invalid, Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import {
  all,
  type Condition,
  channelsOf,
  hasStatus,
  isAlive,
  isAt,
  isFree,
  layerNotFound,
  packageName,
  presentLayer,
  type StoredLayer
} from './layer-values.js'

interface Lookups {
  findMatching(
    region: string,
    name: string,
    version: number,
    preconditions: Preconditions
  ): Promise<Condition | undefined>
}

type Key = { rgn: string; pckg: string; lyrVrsn: number }

/** What leaves the pointer when the latest version is withdrawn; its number stays, so that counting goes on. */
const CONTENT = ['arn', 'pckgVrsn', 'requirementsTxt', 'requirementsHsh', 'crtdDt'] as const
const ACTIVE = ['dplySts', 'exDt', 'kept'] as const

/** Deleting versions, which keeps their rows, and keeping them from expiring. */
export function layerDeletion(entities: LayerEntities, { now }: ServiceContext, { findMatching }: Lookups) {
  const { layer } = entities.entities
  const deletion = () => ({ deleted_date: new Date(now()).toISOString() })

  /** Deletes a version that is not the latest, or with `withdraw` any. */
  async function deleteLayer(
    region: string,
    name: string,
    version: number,
    { withdraw = false, ...preconditions }: Preconditions & { withdraw?: boolean } = {}
  ): Promise<void> {
    const key = { rgn: region, pckg: packageName(name), lyrVrsn: version }
    const seen = await findMatching(region, name, version, preconditions)
    const outcome = withdraw ? await withdrawLatest(key, preconditions, seen) : 'not the latest'
    if (outcome === 'done') return
    const status = outcome === 'a stray' ? 'latest' : 'deprecated'
    const { rejected, data } = await layer
      .patch(key)
      .set(deletion())
      .remove([...ACTIVE])
      .where(all(hasStatus(status), isAlive(now()), isFree, seen))
      .go({ returnOnConditionCheckFailure: 'all_old' })
    if (rejected) throw refusal(key, data as StoredLayer | null, preconditions)
  }

  /** Deletes the latest version and empties the pointer. A row that is `latest` beside the pointer's is a stray of others. */
  async function withdrawLatest(
    key: Key,
    preconditions: Preconditions,
    seen?: Condition
  ): Promise<'done' | 'not the latest' | 'a stray'> {
    const { lyrVrsn, ...pointer } = key
    const cancelled = await commit(
      entities.transaction.write(({ layer, latestLayer }) => [
        layer
          .patch(key)
          .set(deletion())
          .remove([...ACTIVE])
          .where(all(hasStatus('latest'), isFree, seen))
          .commit({ response: 'all_old' }),
        latestLayer
          .patch(pointer)
          .set(deletion())
          .remove([...CONTENT])
          .where(isAt(lyrVrsn))
          .commit()
      ])
    )
    if (!cancelled) return 'done'
    if (!cancelled[0]?.rejected) return 'a stray'
    const row = cancelled[0].item as StoredLayer | null
    if (row?.dplySts === 'deprecated') return 'not the latest'
    throw refusal(key, row, preconditions)
  }

  /** Why a version cannot be deleted or expire, from what stands there. */
  function refusal({ rgn, pckg, lyrVrsn }: Key, row: StoredLayer | null, { ifMatch }: Preconditions): Problem {
    if (!row?.dplySts) return layerNotFound(rgn, pckg, lyrVrsn)
    if (ifMatch !== undefined) assertMatch(ifMatch, presentLayer(row))
    const channels = channelsOf(row)
    if (channels.length) {
      return new Problem('layer-in-channel', `Version ${lyrVrsn} is held by ${channels.join(', ')}`)
    }
    if (row.dplySts === 'latest') {
      return new Problem(
        'layer-is-latest',
        `Version ${lyrVrsn} is the latest; add withdraw=true to delete it nevertheless`
      )
    }
    return new Problem('precondition-failed')
  }

  /**
   * Says when a deprecated version expires; with `null` the deprecation is undone, and the version stays deployed until it
   * is deleted by hand. `latest` does not move back to it.
   */
  async function updateExpiry(
    region: string,
    name: string,
    version: number,
    { expiresAt }: { expiresAt: string | null },
    preconditions: Preconditions = {}
  ) {
    const key = { rgn: region, pckg: packageName(name), lyrVrsn: version }
    const exDt = expiresAt === null ? undefined : Math.floor(Date.parse(expiresAt) / 1000)
    if (exDt !== undefined && !(exDt * 1000 > now())) throw invalid('body/expiresAt', 'must lie in the future')
    const seen = await findMatching(region, name, version, preconditions)
    const change =
      exDt === undefined
        ? layer.patch(key).set({ kept: true }).remove(['exDt'])
        : layer.patch(key).set({ exDt }).remove(['kept'])
    const { rejected, data } = await change
      .where(all(hasStatus('deprecated'), isAlive(now()), seen, exDt === undefined ? undefined : isFree))
      .go({ response: 'all_new', returnOnConditionCheckFailure: 'all_old' })
    const row = data as StoredLayer | null
    if (!rejected) return presentLayer(row as StoredLayer)
    if (row?.dplySts === 'latest') throw new Problem('layer-not-deprecated', `Version ${version} is the latest`)
    throw refusal(key, row, preconditions)
  }

  return { deleteLayer, updateExpiry }
}
