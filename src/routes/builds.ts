import { PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/layers.js'
import type { LayersService } from '../services/layers.js'
import { created, page, type Routes } from './reply.js'

const tags = ['layers']

/** `/v1/builds`, and how far the layers are behind them. */
export const buildRoutes: Routes<LayersService> = async (app, { service: layers }) => {
  app.post(
    '/builds',
    {
      schema: {
        operationId: 'insertBuild',
        tags,
        summary: 'Add the next build of a package',
        description: 'It gets the next version. Two callers at once get two versions.',
        body: schema.NewBuild,
        response: { 201: schema.Build, ...problems('item-too-large', 'body-too-large', 'concurrent-changes') }
      }
    },
    async (request, reply) => {
      const build = await layers.insertBuild(request.body)
      return created(reply, ['builds', build.package, String(build.version)], build)
    }
  )

  app.get(
    '/builds',
    {
      schema: {
        operationId: 'listLatestBuilds',
        tags,
        summary: 'List the latest build of every package',
        description: 'One build a package, with its requirements.',
        querystring: strict(PageQuery),
        response: { 200: schema.BuildPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await layers.listLatestBuilds(request.query))
  )

  app.get(
    '/builds/:package',
    {
      schema: {
        operationId: 'getLatestBuild',
        tags,
        summary: 'Get the latest build of a package',
        description: 'The build with the highest version, with its requirements.',
        params: schema.PackageParams,
        response: { 200: schema.Build, ...problems('build-not-found') }
      }
    },
    request => layers.getLatestBuild(request.params.package)
  )

  app.get(
    '/builds/:package/:version',
    {
      schema: {
        operationId: 'getBuild',
        tags,
        summary: 'Get one build of a package',
        description: 'A build stays as it was added.',
        params: schema.BuildParams,
        response: { 200: schema.Build, ...problems('build-not-found') }
      }
    },
    request => layers.getBuild(request.params.package, request.params.version)
  )

  app.get(
    '/packages/:package/drift',
    {
      schema: {
        operationId: 'getDrift',
        tags,
        summary: 'Where is a package behind its latest build?',
        description: 'Compares the requirements of each region’s latest layer with those of the latest build.',
        params: schema.PackageParams,
        querystring: strict(PageQuery),
        response: { 200: schema.DriftPage, ...problems('build-not-found', 'invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await layers.getDrift(request.params.package, request.query))
  )
}
