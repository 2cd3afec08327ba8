import { setTimeout as sleep } from 'node:timers/promises'
import { unchanged } from '../dynamo/conditions.js'
import { commit, readTogether } from '../dynamo/transact.js'
import type { Item } from '../dynamo/values.js'
import { type HostingEntities, IS_FREE } from '../entities/hosting.js'
import { Problem } from '../problems.js'
import type { ServiceContext } from './context.js'
import { DESTROYING } from './deployment-status.js'
import type { StoredDeployment } from './deployments.js'
import { type AliasName, reversed } from './hostnames.js'
import { fromText, toText } from './json-text.js'

/** What an alias's Route says of where it points. */
export interface Pointer extends AliasName {
  deploymentId: string
  createDate: string
  deploymentAlias?: boolean
  previousDeploymentId?: string
}

export interface StoredRoute extends Pointer {
  routes?: unknown
  lambdaRoutes?: unknown
  prerenders?: unknown
}

export interface StoredConfig extends AliasName {
  deploymentId: string
  createDate: string
  config?: unknown
}

/** An alias that is to point at a deployment from now on. */
export interface Placement {
  name: AliasName
  deployment: StoredDeployment
  action: 'created' | 'moved' | 'swapped' | 'reverted'
  /** The alias as it was read, whose change by others in between makes the write fail. */
  seen?: Pointer
  seenConfig?: StoredConfig
  config?: Item
  deploymentAlias?: boolean
}

type Parts = Parameters<Parameters<HostingEntities['transaction']['write']>[0]>[0]

const POINTER = [
  'hostnameRev',
  'basePath',
  'deploymentId',
  'createDate',
  'deploymentAlias',
  'previousDeploymentId'
] as const
const MAX_TRIES = 24
const ISO_LENGTH = '2026-01-31T12:00:00.000Z'.length

export const nameOf = ({ hostnameRev, basePath }: AliasName) => `${hostnameRev}#${basePath}`
export const showName = ({ hostnameRev, basePath }: AliasName) => `${reversed(hostnameRev)}${basePath}`
export const aliasNotFound = (name: AliasName) => new Problem('alias-not-found', `There is no alias ${showName(name)}`)

/** An alias as callers see it. */
export function presentAlias(route: StoredRoute, config?: StoredConfig) {
  return {
    hostname: reversed(route.hostnameRev).toLowerCase(),
    basePath: route.basePath,
    deploymentId: route.deploymentId,
    createDate: route.createDate,
    deploymentAlias: route.deploymentAlias === true,
    routes: fromText(route.routes ?? '{}'),
    lambdaRoutes: fromText(route.lambdaRoutes ?? '{}'),
    prerenders: fromText(route.prerenders ?? '{}'),
    config: config === undefined ? undefined : fromText(config.config ?? {})
  }
}

/** The condition that an alias points where it was seen to. */
export const stillThere = (seen: Pointer) => unchanged(['deploymentId', 'createDate', 'deploymentAlias'], { ...seen })

/** Reads and writes of aliases, of which any number happens as one. */
export function aliasWrites(entities: HostingEntities, { now, randomBytes }: ServiceContext) {
  /** The items of these names and ids as they are at one moment, in one request. */
  async function look(wanted: { routes?: AliasName[]; configs?: AliasName[]; deployments?: string[] }) {
    const routes = distinct(wanted.routes)
    const configs = distinct(wanted.configs)
    const ids = [...new Set(wanted.deployments)]
    const found = await readTogether(
      entities.transaction.get(({ route, configNextJs, deployment }) => [
        ...routes.map(name => route.get(name).commit({ attributes: [...POINTER] })),
        ...configs.map(name => configNextJs.get(name).commit()),
        ...ids.map(deploymentId => deployment.get({ deploymentId }).commit())
      ])
    )
    // What was asked for is written to later, whatever the items say of themselves.
    const take = <T>(keys: object[]) =>
      found.splice(0, keys.length).map((item, i) => (item ? { ...item, ...keys[i] } : undefined) as T | undefined)
    return {
      routes: new Map(take<Pointer>(routes).map((item, i) => [nameOf(routes[i] as AliasName), item])),
      configs: new Map(take<StoredConfig>(configs).map((item, i) => [nameOf(configs[i] as AliasName), item])),
      deployments: new Map(
        take<StoredDeployment>(ids.map(deploymentId => ({ deploymentId }))).map((item, i) => [ids[i] as string, item])
      )
    }
  }

  let latest = { at: 0, count: 0 }

  /** A moment after the alias was last changed, and an id by which the changes of an alias sort as they happened. */
  function stamp(seen?: { createDate: string }) {
    const date = Math.max(now(), seen ? (Date.parse(seen.createDate) || 0) + 1 : 0)
    const at = Math.max(date, latest.at)
    latest = { at, count: at === latest.at ? latest.count + 1 : 0 }
    const count = latest.count.toString(16).padStart(6, '0')
    const changeId = `${new Date(at).toISOString()}-${count}-${randomBytes(4).toString('hex')}`
    return { date: new Date(date).toISOString(), changeId }
  }

  /** Another node whose clock is ahead may have made a change: ours come after it. */
  function noteChange(changeId: string): void {
    const at = Date.parse(changeId.slice(0, ISO_LENGTH)) + 1
    if (at > latest.at) latest = { at, count: 0 }
  }

  function placed({ name, deployment, seen, seenConfig, action, ...given }: Placement) {
    const { date: createDate, changeId } = stamp(seen)
    const { deploymentId } = deployment
    const previous = seen?.deploymentId === deploymentId ? seen.previousDeploymentId : seen?.deploymentId
    const content = {
      deploymentId,
      createDate,
      deploymentAlias: given.deploymentAlias ?? false,
      routes: toText(deployment.routes),
      lambdaRoutes: toText(deployment.lambdaRoutes),
      prerenders: toText(deployment.prerenders),
      ...(previous === undefined ? {} : { previousDeploymentId: previous })
    }
    const route = ({ route }: Parts) =>
      seen
        ? route.patch(name).set(content).where(stillThere(seen)).commit()
        : route.create({ ...name, ...content }).commit()
    const config = ({ configNextJs }: Parts) => {
      if (given.config) return configNextJs.upsert({ ...name, deploymentId, createDate, config: given.config }).commit()
      if (!seen) return configNextJs.delete(name).commit()
      if (!seenConfig)
        return configNextJs
          .check(name)
          .where(() => IS_FREE)
          .commit()
      const stays = unchanged(['deploymentId', 'createDate'], { ...seenConfig })
      return configNextJs.patch(name).set({ deploymentId, createDate }).where(stays).commit()
    }
    const change = ({ change }: Parts) =>
      change
        .create({
          ...name,
          changeId,
          action,
          changeDate: createDate,
          deploymentId,
          previousDeploymentId: seen?.deploymentId
        })
        .commit()
    const ended = ({ ended }: Parts) =>
      ended
        .check(name)
        .where((attr, op) => `NOT ${op.gte(attr.changeId, changeId)}`)
        .commit({ response: 'all_old' })
    const kept = given.config ? { config: given.config } : seen && seenConfig
    const stored = { ...name, deploymentId, createDate, config: kept?.config }
    return {
      deploymentId,
      lastAlias: `${nameOf(name)}#${changeId}`,
      parts: [route, config, change, ...(seen ? [] : [ended])],
      answer: presentAlias({ ...name, ...content }, kept && stored)
    }
  }

  /** Points aliases at deployments that are there and stay, all or none; `undefined` if others were faster. */
  async function place(placements: Placement[]) {
    const all = placements.map(placed)
    const targets = new Map(all.map(({ deploymentId, lastAlias }) => [deploymentId, lastAlias]))
    const cancelled = await commit(
      entities.transaction.write(parts => [
        ...[...targets].map(([deploymentId, lastAlias]) =>
          parts.deployment
            .patch({ deploymentId })
            .set({ lastAlias })
            .where((attr, op) => DESTROYING.map(status => op.ne(attr.status, status)).join(' AND '))
            .commit()
        ),
        ...all.flatMap(one => one.parts.map(part => part(parts)))
      ])
    )
    if (!cancelled) return all.map(one => one.answer)
    for (const { item } of cancelled) if (item?.changeId) noteChange(String(item.changeId))
    return undefined
  }

  /** The parts of a transaction that follow an alias's Route when it is removed. */
  function removal(parts: Parts, seen: Pointer) {
    const { hostnameRev, basePath, deploymentId } = seen
    const name = { hostnameRev, basePath }
    const { date: changeDate, changeId } = stamp(seen)
    const change = { ...name, changeId, action: 'deleted', changeDate, previousDeploymentId: deploymentId }
    return {
      config: parts.configNextJs.delete(name).commit(),
      notes: [parts.change.create(change).commit(), parts.ended.put({ ...name, changeId }).commit()]
    }
  }

  return { look, place, removal }
}

export type AliasWrites = ReturnType<typeof aliasWrites>

/** Tries again while others change what was read. */
export async function retried<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const result = await attempt()
    if (result !== undefined) return result
    await sleep(Math.random() * Math.min(5 * 2 ** tries, 500))
  }
  throw new Problem('concurrent-changes')
}

function distinct(names: AliasName[] = []): AliasName[] {
  return [...new Map(names.map(name => [nameOf(name), name])).values()]
}
