import { setTimeout as sleep } from 'node:timers/promises'
import type { Dynamo } from '../dynamo/client.js'
import { DEFAULT_LIMIT, type PageRequest, readPage } from '../dynamo/cursors.js'
import { layerEntities } from '../entities/layers.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import { buildActions } from './builds.js'
import type { Preconditions, ServiceContext } from './context.js'
import { channelActions } from './layer-channels.js'
import { layerDeletion } from './layer-deletion.js'
import { layerPublishing } from './layer-publishing.js'
import { layerNotFound, packageName, presentLayer, type StoredLayer, stillSo } from './layer-values.js'
import { createTurns } from './turns.js'

type Status = ReturnType<typeof presentLayer>['status']

export interface LayerSettings {
  expiryDays: number
}

const MAX_BATCH = 100
const MAX_TRIES = 12

/** What can be done with the registry of layers and their builds. */
export function layersService(dynamo: Dynamo, table: string, settings: LayerSettings, context: ServiceContext) {
  const { cursors, now } = context
  const entities = layerEntities(dynamo, table, now)
  const { layer, latestLayer } = entities.entities

  async function findLayer(region: string, name: string, version: number): Promise<StoredLayer> {
    const { data } = await layer
      .get({ rgn: region, pckg: packageName(name), lyrVrsn: version })
      .go({ consistent: true })
    if (!data) throw layerNotFound(region, name, version)
    return data
  }

  async function getLayer(region: string, name: string, version: number) {
    return presentLayer(await findLayer(region, name, version))
  }

  async function findPointer(region: string, name: string): Promise<StoredLayer | undefined> {
    const { data } = await latestLayer.get({ rgn: region, pckg: packageName(name) }).go({ consistent: true })
    return data ?? undefined
  }

  async function getLatestLayer(region: string, name: string) {
    const pointer = await findPointer(region, name)
    if (!pointer || pointer.deleted_date !== undefined) throw layerNotFound(region, name)
    return presentLayer({ ...pointer, dplySts: 'latest' })
  }

  /** What the caller has seen of a version, if he demands that it is still so. */
  async function findMatching(region: string, name: string, version: number, { ifMatch }: Preconditions) {
    if (ifMatch === undefined) return undefined
    const seen = await findLayer(region, name, version)
    assertMatch(ifMatch, presentLayer(seen))
    return stillSo(seen)
  }

  /**
   * All versions, newest first. `v10` sorts before `v9`, so they are read by number, downwards from the pointer's:
   * the cursor is the next number, and numbers without a row are passed over.
   */
  async function listLayerVersions(region: string, name: string, request: PageRequest & { status?: Status }) {
    const { status, cursor, limit = DEFAULT_LIMIT } = request
    const pckg = packageName(name)
    const list = JSON.stringify(['layer versions', region, pckg, status ?? null])
    const from = cursor === undefined ? await newestVersion(region, pckg) : Number(cursors.open(list, cursor))
    const count = Math.min(from, status === undefined ? limit : MAX_BATCH)
    const rows = await readRows(Array.from({ length: count }, (_, i) => ({ rgn: region, pckg, lyrVrsn: from - i })))
    const fitting = rows.map(presentLayer).filter(row => status === undefined || row.status === status)
    const items = fitting.slice(0, limit)
    // A row of others may call itself by another number than its key does: the walk goes down all the same.
    const next = fitting.length > limit ? Math.min(items.at(-1)?.version ?? 0, from) - 1 : from - count
    return { items, cursor: next > 0 ? cursors.seal(list, String(next)) : null }
  }

  async function newestVersion(region: string, pckg: string): Promise<number> {
    const pointer = await findPointer(region, pckg)
    if (!pointer) throw layerNotFound(region, pckg)
    return pointer.lyrVrsn
  }

  /** The rows that are there, newest first; again those that DynamoDB left unprocessed. */
  async function readRows(keys: { rgn: string; pckg: string; lyrVrsn: number }[]): Promise<StoredLayer[]> {
    const rows: StoredLayer[] = []
    let left = keys
    for (let tries = 0; left.length > 0; tries++) {
      if (tries === MAX_TRIES) throw new Problem('database-unavailable', undefined, { headers: { 'retry-after': '1' } })
      if (tries > 0) await sleep(Math.random() * Math.min(20 * 2 ** tries, 1000))
      const { data, unprocessed } = await layer.get(left).go({ consistent: true })
      // An expired row comes as null.
      rows.push(...data.filter(row => row !== null))
      left = unprocessed as typeof keys
    }
    return rows.sort((a, b) => b.lyrVrsn - a.lyrVrsn)
  }

  async function listLatestOfPackage(name: string, request: PageRequest) {
    const pckg = packageName(name)
    const page = await readPage(cursors, ['latest layers', pckg], request, options =>
      layer.query.byPackage({ pckg, dplySts: 'latest' }).go(options)
    )
    return { ...page, items: page.items.map(presentLayer) }
  }

  /** The index holds active layers only, so that without a status both kinds come. */
  async function listDeployedInRegion(
    region: string,
    { status, ...request }: PageRequest & { status?: 'latest' | 'deprecated' }
  ) {
    const page = await readPage(cursors, ['deployed layers', region, status ?? null], request, options =>
      layer.query.byRegion(status ? { rgn: region, dplySts: status } : { rgn: region }).go(options)
    )
    return { ...page, items: page.items.map(presentLayer) }
  }

  const lookups = { findPointer, findMatching, inTurn: createTurns() }
  return {
    ...layerPublishing(entities, settings, context, lookups),
    ...layerDeletion(entities, context, lookups),
    ...channelActions(entities, settings, context),
    ...buildActions(entities, context, lookups),
    getLayer,
    getLatestLayer,
    listLayerVersions,
    listLatestOfPackage,
    listDeployedInRegion
  }
}

export type LayersService = ReturnType<typeof layersService>
