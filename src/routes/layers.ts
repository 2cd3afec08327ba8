import { IfMatch, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/layers.js'
import type { LayersService } from '../services/layers.js'
import { buildRoutes } from './builds.js'
import { channelRoutes } from './layer-channels.js'
import { toCsv, toHtml } from './layer-tables.js'
import { negotiate } from './negotiate.js'
import { created, nextLink, noContent, page, preconditions, type Routes, varyBy } from './reply.js'

const tags = ['layers']

/** `/v1/layers`, `/v1/packages`, `/v1/regions` and `/v1/builds`: the registry of Lambda layers. */
export const layerRoutes: Routes<LayersService> = async (app, { service: layers }) => {
  await app.register(channelRoutes, { service: layers })
  await app.register(buildRoutes, { service: layers })

  app.post(
    '/layers',
    {
      schema: {
        operationId: 'insertLayer',
        tags,
        summary: 'Publish the next version of a layer',
        description:
          'It becomes the latest; the one before is deprecated and will expire. Concurrent publishers get a number each.',
        body: schema.NewLayer,
        response: { 201: schema.Layer, ...problems('item-too-large', 'body-too-large', 'concurrent-changes') }
      }
    },
    async (request, reply) => {
      const layer = await layers.insertLayer(request.body)
      return created(reply, ['layers', layer.region, layer.package, String(layer.version)], layer)
    }
  )

  app.get(
    '/layers/:region/:package/latest',
    {
      schema: {
        operationId: 'getLatestLayer',
        tags,
        summary: 'Get the latest version of a package’s layer in a region',
        description: 'The one to deploy with, and its ARN.',
        params: schema.PackageInRegionParams,
        response: { 200: schema.Layer, ...problems('layer-not-found') }
      }
    },
    request => layers.getLatestLayer(request.params.region, request.params.package)
  )

  app.get(
    '/layers/:region/:package',
    {
      schema: {
        operationId: 'listLayerVersions',
        tags,
        summary: 'List all versions of a package’s layer in a region, newest first',
        description: 'Deleted ones included; a package that never had a version is 404.',
        params: schema.PackageInRegionParams,
        querystring: schema.VersionsQuery,
        response: { 200: schema.LayerPage, ...problems('layer-not-found', 'invalid-cursor') }
      }
    },
    async ({ params, query, url }, reply) =>
      page({ url }, reply, await layers.listLayerVersions(params.region, params.package, query))
  )

  app.get(
    '/layers/:region/:package/:version',
    {
      schema: {
        operationId: 'getLayer',
        tags,
        summary: 'Get one version of a layer',
        description: 'Also one that is deprecated or deleted, while it is stored.',
        params: schema.LayerParams,
        response: { 200: schema.Layer, ...problems('layer-not-found') }
      }
    },
    ({ params }) => layers.getLayer(params.region, params.package, params.version)
  )

  app.delete(
    '/layers/:region/:package/:version',
    {
      schema: {
        operationId: 'deleteLayer',
        tags,
        summary: 'Delete a version; its row stays as history',
        description:
          'The latest version is refused with 409, unless `withdraw=true`: then no version is the latest until the next is published. A version that a channel holds is refused.',
        params: schema.LayerParams,
        querystring: schema.DeleteQuery,
        headers: IfMatch,
        response: {
          204: NoContent,
          ...problems('layer-not-found', 'layer-is-latest', 'layer-in-channel', 'precondition-failed')
        }
      }
    },
    async (request, reply) => {
      const { region, package: name, version } = request.params
      await layers.deleteLayer(region, name, version, { ...request.query, ...preconditions(request) })
      return noContent(reply)
    }
  )

  app.patch(
    '/layers/:region/:package/:version',
    {
      schema: {
        operationId: 'updateExpiry',
        tags,
        summary: 'Undo a deprecation, or say when a deprecated version expires',
        description:
          'With `null` the version stays deployed until it is deleted. `latest` does not move back to it: to have it there again, publish it anew.',
        params: schema.LayerParams,
        headers: IfMatch,
        body: schema.LayerChange,
        response: {
          200: schema.Layer,
          ...problems('layer-not-found', 'layer-not-deprecated', 'layer-in-channel', 'precondition-failed')
        }
      }
    },
    request => {
      const { region, package: name, version } = request.params
      return layers.updateExpiry(region, name, version, request.body, preconditions(request))
    }
  )

  app.get(
    '/packages/:package/layers',
    {
      schema: {
        operationId: 'listLatestOfPackage',
        tags,
        summary: 'List the latest version of a package in each region',
        description: 'One layer a region; regions that have none are not listed.',
        params: schema.PackageParams,
        querystring: strict(PageQuery),
        response: { 200: schema.LayerPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) =>
      page(request, reply, await layers.listLatestOfPackage(request.params.package, request.query))
  )

  app.get(
    '/regions/:region/layers',
    {
      schema: {
        operationId: 'listDeployedInRegion',
        tags,
        summary: 'List the layers that are deployed in a region',
        description:
          'Latest and deprecated ones, as JSON, CSV or an HTML page, whichever `Accept` prefers. In CSV, text that a spreadsheet would take for a formula begins with an apostrophe.',
        params: schema.RegionParams,
        querystring: schema.DeployedQuery,
        response: {
          200: {
            description: 'A page of the list.',
            content: {
              'application/json': { schema: schema.LayerPage },
              'text/csv': { schema: { type: 'string' } },
              'text/html': { schema: { type: 'string' } }
            }
          },
          ...problems('invalid-cursor', 'not-acceptable')
        }
      }
    },
    async (request, reply) => {
      const { region } = request.params
      varyBy(reply, 'accept')
      const type = negotiate(request.headers.accept, ['application/json', 'text/csv', 'text/html'])
      const found = page(request, reply, await layers.listDeployedInRegion(region, request.query))
      if (type === 'application/json') return reply.send(found)
      reply.type(`${type}; charset=utf-8`)
      if (type === 'text/html') return reply.send(toHtml(region, found.items, nextLink(request, found)))
      return reply.header('content-disposition', `inline; filename="layers-${region}.csv"`).send(toCsv(found.items))
    }
  )
}
