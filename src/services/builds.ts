import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { commit } from '../dynamo/transact.js'
import type { LayerEntities } from '../entities/layers.js'
import { Problem } from '../problems.js'
import type { ServiceContext } from './context.js'
import {
  contentOf,
  hashOf,
  insist,
  type NewBuild,
  packageName,
  presentBuild,
  type StoredBuild,
  type StoredContent,
  type StoredLayer
} from './layer-values.js'
import type { InTurn } from './turns.js'

const buildNotFound = (name: string, version?: number) =>
  new Problem(
    'build-not-found',
    version === undefined ? `There is no build of ${name}` : `${name} has no build ${version}`
  )

/** The actions on the builds of packages. */
export function buildActions(
  entities: LayerEntities,
  { cursors, now }: ServiceContext,
  { inTurn }: { inTurn: InTurn }
) {
  const { build, latestBuild, layer } = entities.entities

  /** The pointer moves on and the build is put, or neither; who comes second takes the next number. */
  async function insertBuild(request: NewBuild) {
    const pckg = packageName(request.package)
    const content = contentOf(request)
    return inTurn(JSON.stringify([pckg]), () => insertNext(pckg, content))
  }

  async function insertNext(pckg: string, content: StoredContent) {
    let pointer = await findLatest(pckg)
    return insist(async () => {
      const before = pointer?.bltVrsn ?? 0
      const item = { pckg, bltVrsn: before + 1, ...content, crtdDt: new Date(now()).toISOString() }
      const { pckg: _key, ...latest } = item
      const cancelled = await commit(
        entities.transaction.write(({ build, latestBuild }) => [
          pointer
            ? latestBuild
                .patch({ pckg })
                .set(latest)
                .where(({ bltVrsn }, { eq, type }) =>
                  before === 0 ? `NOT ${type(bltVrsn, 'N')} OR ${eq(bltVrsn, 0)}` : eq(bltVrsn, before)
                )
                .commit({ response: 'all_old' })
            : latestBuild.create(item).commit({ response: 'all_old' }),
          build.create(item).commit()
        ])
      )
      if (!cancelled) return presentBuild(item)
      if (!cancelled[0]?.rejected)
        throw new Problem('concurrent-changes', `Build ${before + 1} of ${pckg} is there already`)
      pointer = (cancelled[0].item as StoredBuild | null) ?? undefined
      return undefined
    })
  }

  async function findLatest(pckg: string): Promise<StoredBuild | undefined> {
    const { data } = await latestBuild.get({ pckg }).go({ consistent: true })
    return data ?? undefined
  }

  async function getLatestBuild(name: string) {
    const found = await findLatest(packageName(name))
    if (!found) throw buildNotFound(name)
    return presentBuild(found)
  }

  async function getBuild(name: string, version: number) {
    const { data } = await build.get({ pckg: packageName(name), bltVrsn: version }).go({ consistent: true })
    if (!data) throw buildNotFound(name, version)
    return presentBuild(data)
  }

  async function listLatestBuilds(request: PageRequest) {
    const page = await readPage(cursors, ['builds'], request, options => latestBuild.query.all({}).go(options))
    return { ...page, items: page.items.map(presentBuild) }
  }

  /** Where the latest layer was made from other requirements than those of the latest build. */
  async function getDrift(name: string, request: PageRequest) {
    const pckg = packageName(name)
    const [page, latest] = await Promise.all([
      readPage(cursors, ['drift', pckg], request, options =>
        layer.query.byPackage({ pckg, dplySts: 'latest' }).go(options)
      ),
      findLatest(pckg)
    ])
    if (!latest) throw buildNotFound(name)
    const latestHash = requirementsHash(latest)
    const items = page.items.map((item: StoredLayer) => {
      const deployedHash = requirementsHash(item)
      return { region: item.rgn, version: item.lyrVrsn, deployedHash, latestHash, current: deployedHash === latestHash }
    })
    return { ...page, items }
  }

  return { insertBuild, getLatestBuild, getBuild, listLatestBuilds, getDrift }
}

/** Others may have stored the text alone. */
const requirementsHash = (item: StoredBuild | StoredLayer) => item.requirementsHsh ?? hashOf(item.requirementsTxt ?? '')
