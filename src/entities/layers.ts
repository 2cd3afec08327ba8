import { Entity, Service } from 'electrodb'
import type { Dynamo } from '../dynamo/client.js'
import { attributeKey, exact, key } from '../dynamo/exact.js'
import type { Attributes } from '../dynamo/values.js'

/** What a layer and a build have in common, under the document's names. */
const content = {
  pckgVrsn: { type: 'string' },
  requirementsTxt: { type: 'string' },
  requirementsHsh: { type: 'string' },
  /** Of others, also a number of seconds. */
  crtdDt: { type: 'any' }
} as const

const layerContent = {
  rgn: { type: 'string', required: true },
  pckg: { type: 'string', required: true },
  lyrVrsn: { type: 'number', required: true },
  arn: { type: 'string' },
  deleted_date: { type: 'any' },
  ...content
} as const

const buildContent = {
  pckg: { type: 'string', required: true },
  bltVrsn: { type: 'number', required: true },
  ...content
} as const

/** One table of layers and builds, each with a "version 0" that points at the latest. */
export function layerEntities(client: Dynamo, table: string, now: () => number) {
  const config = { client, table }

  /** lyr#<rgn>.<pckg> / lyrVrsn#v<version>: a version of a layer; only an active one has `dplySts`, and is indexed. */
  const layer = exact(
    new Entity(
      {
        model: { service: 'layers', entity: 'Layer', version: '1' },
        attributes: {
          ...layerContent,
          dplySts: { type: ['latest', 'deprecated'] },
          exDt: { type: 'number' },
          /** The channels that hold the version, and whether its deprecation was undone: then it does not expire. */
          chnls: { type: 'set', items: 'string' },
          kept: { type: 'boolean' }
        },
        indexes: {
          byVersion: { pk: key('pk', 'lyr#${rgn}.${pckg}'), sk: key('sk', 'lyrVrsn#v${lyrVrsn}') },
          byPackage: { index: 'package_global', pk: attributeKey('pckg'), sk: attributeKey('dplySts') },
          byRegion: { index: 'deployed_in_region', pk: attributeKey('rgn'), sk: attributeKey('dplySts') }
        }
      } as const,
      config
    ),
    { field: 'exDt', now }
  )

  /** lyr#<rgn>.<pckg> / lyrVrsn0#: the latest version once more; never with `dplySts` or `exDt`. */
  const latestLayer = exact(
    new Entity(
      {
        model: { service: 'layers', entity: 'LatestLayer', version: '1' },
        attributes: layerContent,
        indexes: { byPackage: { pk: key('pk', 'lyr#${rgn}.${pckg}'), sk: key('sk', 'lyrVrsn0#') } }
      } as const,
      config
    )
  )

  /** lyr#<rgn>.<pckg> / chnl#<name>: a name of ours for a version that is to stay; the document has none. */
  const channel = exact(
    new Entity(
      {
        model: { service: 'layers', entity: 'Channel', version: '1' },
        attributes: {
          rgn: { type: 'string', required: true },
          pckg: { type: 'string', required: true },
          chnl: { type: 'string', required: true },
          lyrVrsn: { type: 'number', required: true },
          uptdDt: { type: 'string', required: true }
        },
        indexes: { byPackage: { pk: key('pk', 'lyr#${rgn}.${pckg}'), sk: key('sk', 'chnl#${chnl}') } }
      } as const,
      config
    )
  )

  /** bld#v<version> / pckg#<package_name>: a build of a package. */
  const build = exact(
    new Entity(
      {
        model: { service: 'layers', entity: 'Build', version: '1' },
        attributes: buildContent,
        indexes: { byVersion: { pk: key('pk', 'bld#v${bltVrsn}'), sk: key('sk', 'pckg#${pckg}') } }
      } as const,
      config
    )
  )

  /** bldVrsn0# / pckg#<package_name>: the latest build once more, all packages in one partition. */
  const latestBuild = exact(
    new Entity(
      {
        model: { service: 'layers', entity: 'LatestBuild', version: '1' },
        attributes: buildContent,
        indexes: { all: { pk: key('pk', 'bldVrsn0#'), sk: key('sk', 'pckg#${pckg}') } }
      } as const,
      config
    )
  )

  return new Service({ layer, latestLayer, channel, build, latestBuild }, config)
}

export type LayerEntities = ReturnType<typeof layerEntities>

/** What stands before the first `#` of a key: the kind of item, as the event bus is told it. */
export const keyType = (value: string) => value.split('#', 1)[0] as string

/** Whether a pair of such kinds is that of a layer's version. */
export const isLayerVersion = (types: { pk_type: string; sk_type: string }) =>
  types.pk_type === 'lyr' && types.sk_type === 'lyrVrsn'

/** What only an active row has. */
const ACTIVE = ['dplySts', 'exDt', 'chnls', 'kept']

/** A row that TTL removed, as it comes back: deleted, and otherwise what it was, attributes of others included. */
export function deletedImage(image: Attributes, at: string): Attributes {
  const rest = Object.entries(image).filter(([name]) => !ACTIVE.includes(name))
  return { ...Object.fromEntries(rest), deleted_date: { S: at } }
}

/** What of a row its deleter needs to know, for when the whole row is more than an event holds. */
export function imageSummary(image: Attributes): Attributes {
  const names = ['pk', 'sk', 'rgn', 'pckg', 'lyrVrsn', 'pckgVrsn', 'arn', 'requirementsHsh', 'crtdDt', ...ACTIVE]
  return Object.fromEntries(Object.entries(image).filter(([name]) => names.includes(name)))
}

/** The condition under which a row may come back: nothing stands there. */
export const IS_ABSENT = 'attribute_not_exists(pk)'

/** Whether an image is that of a deleted version. */
export const isDeletedImage = (image: Attributes | undefined) => image?.dplySts === undefined

/** The ARN in an image, if it has one. */
export const arnOf = (image: Attributes) => image.arn?.S
