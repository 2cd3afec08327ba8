import { setTimeout as sleep } from 'node:timers/promises'
import type { Dynamo } from '../dynamo/client.js'
import type { Item } from '../dynamo/values.js'
import type { HostingEntities } from '../entities/hosting.js'
import { Problem } from '../problems.js'
import { presentAlias, type StoredConfig, type StoredRoute } from './alias-writes.js'
import type { AliasActions } from './aliases.js'
import { aliasName, basePathsOf, MAX_KEY_BYTES, wildcardOf } from './hostnames.js'

const MAX_TRIES = 8

/** The read that must be fast: which alias serves a URL. */
export function resolveAction(
  dynamo: Dynamo,
  { entities: { route, configNextJs } }: HostingEntities,
  { findAlias }: AliasActions
) {
  const parse = <T>(entity: { parse(input: never): { data: unknown } }, item: Item) =>
    entity.parse({ Item: item } as never).data as T

  /** The alias of exactly this host whose base path is the longest that serves the path; all are asked for at once. */
  async function serving(hostname: string, path: string) {
    const keys = basePathsOf(path).flatMap(basePath => {
      const name = aliasName(hostname, basePath)
      return [route.get(name).params(), configNextJs.get(name).params()] as StoredGet[]
    })
    const found = await readAll(keys)
    const [hit] = found.filter(({ PK }) => PK === keys[0]?.Key.PK).sort((a, b) => b.SK.length - a.SK.length)
    const itsConfig = found.find(({ PK, SK }) => PK === keys[1]?.Key.PK && SK === hit?.SK)
    return hit && withConfig(parse<StoredRoute>(route, hit), itsConfig && parse<StoredConfig>(configNextJs, itsConfig))
  }

  /** A batch may see half of a move: then the two are read again, together. */
  async function withConfig(found: StoredRoute, config?: StoredConfig) {
    if (!config || config.deploymentId === found.deploymentId) return presentAlias(found, config)
    const { hostnameRev, basePath } = found
    const again = await findAlias({ hostnameRev, basePath })
    return presentAlias(again.route, again.config)
  }

  async function readAll(gets: StoredGet[]): Promise<(Item & StoredKey)[]> {
    const table = gets[0]?.TableName ?? ''
    let Keys = gets.map(({ Key }) => Key).filter(({ SK }) => Buffer.byteLength(SK) <= MAX_KEY_BYTES)
    const found: (Item & StoredKey)[] = []
    for (let tries = 0; Keys.length > 0; tries++) {
      if (tries === MAX_TRIES) throw new Problem('database-unavailable', undefined, { headers: { 'retry-after': '1' } })
      if (tries > 0) await sleep(Math.random() * Math.min(10 * 2 ** tries, 1000))
      const { Responses, UnprocessedKeys } = await dynamo.request('BatchGetItem', {
        RequestItems: { [table]: { Keys } }
      })
      found.push(...((Responses as Record<string, (Item & StoredKey)[]>)[table] ?? []))
      Keys = (UnprocessedKeys as Record<string, { Keys: StoredKey[] }> | undefined)?.[table]?.Keys ?? []
    }
    return found
  }

  /** The exact host before the wildcard, the longer base path before the shorter. */
  return async function getAliasByHostname({ hostname, path = '/' }: { hostname: string; path?: string }) {
    const wildcard = wildcardOf(hostname)
    const alias = (await serving(hostname, path)) ?? (wildcard && (await serving(wildcard, path)))
    if (!alias) throw new Problem('alias-not-found', `No alias serves ${hostname.toLowerCase()}${path}`)
    return alias
  }
}

interface StoredKey {
  PK: string
  SK: string
}

interface StoredGet {
  TableName: string
  Key: StoredKey
}
