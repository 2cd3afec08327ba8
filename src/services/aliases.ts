import { createConversions } from 'electrodb'
import { unchanged } from '../dynamo/conditions.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { commit, readTogether } from '../dynamo/transact.js'
import type { Item } from '../dynamo/values.js'
import { type HostingEntities, IS_FREE } from '../entities/hosting.js'
import { assertMatch } from '../etag.js'
import { invalid, Problem } from '../problems.js'
import {
  type AliasWrites,
  aliasNotFound,
  nameOf,
  type Placement,
  presentAlias,
  retried,
  type StoredConfig,
  type StoredRoute,
  showName,
  stillThere
} from './alias-writes.js'
import type { Preconditions, ServiceContext } from './context.js'
import { DESTROYING } from './deployment-status.js'
import type { DeploymentActions, StoredDeployment } from './deployments.js'
import { type AliasName, aliasName, aliasOfTarget } from './hostnames.js'

export interface NewAlias {
  hostname: string
  basePath?: string
  target: string
  deploymentAlias?: boolean
  override?: boolean
  config?: Item
}

/** An alias and where it shall point. */
interface Wish {
  name: AliasName
  target: string
}

const targetNotFound = (target: string) =>
  new Problem('target-not-found', `There is no deployment and no alias ${target}`)
export const ownAlias = (name: AliasName) =>
  new Problem('deployment-alias', `The alias ${showName(name)} belongs to its deployment and goes with it`)

/** The actions on aliases: a Route and perhaps a ConfigNextJS, created, moved and deleted together. */
export function aliasActions(
  service: HostingEntities,
  { look, place, removal }: AliasWrites,
  { cursors }: ServiceContext,
  { findDeployment }: DeploymentActions
) {
  const positions = createConversions(service.entities.route)

  /** Each target's deployment, and each alias as it is; in one request, or two if targets are aliases. */
  async function prepare(wishes: Wish[]): Promise<Omit<Placement, 'action'>[]> {
    const names = wishes.map(wish => wish.name)
    const targets = wishes.map(({ target }) => aliasOfTarget(target))
    const found = await look({
      routes: [...names, ...targets.filter(target => target !== undefined)],
      configs: names,
      deployments: wishes.map(({ target }) => target)
    })
    const ids = wishes.map(({ target }, i) => {
      if (found.deployments.get(target)) return target
      const alias = targets[i] && found.routes.get(nameOf(targets[i]))
      if (!alias) throw targetNotFound(target)
      return alias.deploymentId
    })
    const others = ids.filter(id => !found.deployments.has(id))
    const more = others.length ? (await look({ deployments: others })).deployments : new Map()
    return wishes.map(({ name, target }, i) => {
      const deployment = found.deployments.get(ids[i] as string) ?? more.get(ids[i])
      if (!deployment) throw targetNotFound(target)
      assertStays(deployment)
      return { name, deployment, seen: found.routes.get(nameOf(name)), seenConfig: found.configs.get(nameOf(name)) }
    })
  }

  function createAlias({ hostname, basePath, target, override = false, ...given }: NewAlias) {
    const name = aliasName(hostname, basePath)
    return retried(async () => {
      const [prepared] = await prepare([{ name, target }])
      const seen = prepared?.seen
      if (seen && !override) throw new Problem('alias-exists', `There is an alias ${showName(name)} already`)
      if (seen?.deploymentAlias) throw ownAlias(name)
      const action = seen ? 'moved' : 'created'
      const done = await place([{ ...(prepared as Placement), ...given, action }])
      return done && { created: !seen, alias: done[0] as ReturnType<typeof presentAlias> }
    })
  }

  /** Moves aliases that are there, all or none; targets that are aliases stand for where they point before. */
  function swapAliases(moves: { hostname: string; basePath?: string; target: string }[]) {
    const wishes = moves.map(({ hostname, basePath, target }) => ({ name: aliasName(hostname, basePath), target }))
    const names = wishes.map(({ name }) => nameOf(name))
    const twice = names.findIndex((name, i) => names.indexOf(name) < i)
    if (twice >= 0) throw invalid(`body/${twice}`, 'names an alias that is named before')
    return retried(async () => {
      const prepared = await prepare(wishes)
      for (const { name, seen } of prepared) {
        if (!seen) throw aliasNotFound(name)
        if (seen.deploymentAlias) throw ownAlias(name)
      }
      const done = await place(prepared.map(one => ({ ...one, action: 'swapped' as const })))
      return done && { items: done }
    })
  }

  async function findAlias(name: AliasName) {
    const [route, config] = await readTogether(
      service.transaction.get(({ route, configNextJs }) => [route.get(name).commit(), configNextJs.get(name).commit()])
    )
    if (!route) throw aliasNotFound(name)
    return { route: { ...(route as StoredRoute), ...name }, config: (config ?? undefined) as StoredConfig | undefined }
  }

  async function getAliasById(name: AliasName) {
    const { route, config } = await findAlias(name)
    return presentAlias(route, config)
  }

  async function deleteAliasById(name: AliasName, { ifMatch }: Preconditions = {}) {
    await retried(async () => {
      const { route: seen, config } = await findAlias(name)
      if (ifMatch !== undefined) assertMatch(ifMatch, presentAlias(seen, config))
      if (seen.deploymentAlias) throw ownAlias(name)
      const texts = unchanged(['routes', 'lambdaRoutes', 'prerenders'], { ...seen })
      const sameConfig = unchanged(['config'], { ...config })
      const cancelled = await commit(
        service.transaction.write(parts => {
          const { config: removeConfig, notes } = removal(parts, seen)
          const remove = parts.route.remove(name).where(stillThere(seen))
          if (ifMatch === undefined) return [remove.commit(), removeConfig, ...notes]
          const removeSameConfig = config
            ? parts.configNextJs.remove(name).where(sameConfig).commit()
            : parts.configNextJs
                .check(name)
                .where(() => IS_FREE)
                .commit()
          return [remove.where(texts).commit(), removeSameConfig, ...notes]
        })
      )
      return cancelled ? undefined : true
    })
  }

  /** Newest first, a row an alias; the index holds up to two rows for each, next to each other. */
  async function listAliasesForDeployment(deploymentId: string, request: PageRequest) {
    const list = readPage(cursors, ['aliases', deploymentId], request, async ({ limit, cursor }) => {
      const found = await service.collections
        .aliases({ deploymentId })
        .go({ cursor, limit: 2 * limit, order: 'desc', ignoreOwnership: true })
      const rows = found.data.route.slice(0, limit)
      const last = rows.at(-1)
      const isCut = last !== undefined && found.data.route.length > limit
      const next = isCut ? positions.byAccessPattern.byDeployment.fromComposite.toCursor(last) : found.cursor
      return { data: rows, cursor: next }
    })
    const [page] = await Promise.all([list, findDeployment(deploymentId)])
    const present = (row: (typeof page.items)[number]) => {
      const { hostname, basePath, createDate, deploymentAlias } = presentAlias(row)
      return { hostname, basePath, deploymentId: row.deploymentId, createDate, deploymentAlias }
    }
    return { ...page, items: page.items.map(present) }
  }

  return { findAlias, createAlias, swapAliases, getAliasById, deleteAliasById, listAliasesForDeployment }
}

export type AliasActions = ReturnType<typeof aliasActions>

export function assertStays({ deploymentId, status }: StoredDeployment): void {
  if (!DESTROYING.includes(status)) return
  throw new Problem('deployment-destroying', `The deployment ${deploymentId} is ${status}; nothing can point at it`)
}
