import { IfMatch, IfMatchOrNone, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/layers.js'
import type { LayersService } from '../services/layers.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'

const tags = ['layers']

/** `/v1/layers/{region}/{package}/channels`: names for versions that are to stay. */
export const channelRoutes: Routes<LayersService> = async (app, { service: layers }) => {
  app.get(
    '/layers/:region/:package/channels',
    {
      schema: {
        operationId: 'listChannels',
        tags,
        summary: 'List the channels of a package in a region',
        description: 'Each channel with the version that it holds. A package without channels has an empty list.',
        params: schema.PackageInRegionParams,
        querystring: strict(PageQuery),
        response: { 200: schema.ChannelPage, ...problems('invalid-cursor') }
      }
    },
    async ({ params, query, url }, reply) =>
      page({ url }, reply, await layers.listChannels(params.region, params.package, query))
  )

  app.get(
    '/layers/:region/:package/channels/:name',
    {
      schema: {
        operationId: 'getChannel',
        tags,
        summary: 'Get a channel',
        description: 'The name, and the version of the layer that it holds.',
        params: schema.ChannelParams,
        response: { 200: schema.Channel, ...problems('channel-not-found') }
      }
    },
    ({ params }) => layers.getChannel(params.region, params.package, params.name)
  )

  app.put(
    '/layers/:region/:package/channels/:name',
    {
      schema: {
        operationId: 'putChannel',
        tags,
        summary: 'Point a channel at a version',
        description:
          'The version does not expire while a channel holds it. One that the channel held before begins to expire if it is deprecated and nothing else keeps it.',
        params: schema.ChannelParams,
        headers: IfMatchOrNone,
        body: schema.ChannelTarget,
        response: {
          200: schema.Channel,
          201: schema.Channel,
          ...problems('layer-not-found', 'precondition-failed', 'concurrent-changes', 'item-too-large')
        }
      }
    },
    async (request, reply) => {
      const { region, package: name, name: channelName } = request.params
      const result = await layers.putChannel(region, name, channelName, request.body, preconditions(request))
      const { channel } = result
      if (!result.created) return channel
      return created(reply, ['layers', region, channel.package, 'channels', channelName], channel)
    }
  )

  app.delete(
    '/layers/:region/:package/channels/:name',
    {
      schema: {
        operationId: 'deleteChannel',
        tags,
        summary: 'Delete a channel, which lets go of its version',
        description: 'The version stays as it is, but can be deleted and expires again.',
        params: schema.ChannelParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('channel-not-found', 'precondition-failed', 'concurrent-changes') }
      }
    },
    async (request, reply) => {
      const { region, package: name, name: channelName } = request.params
      await layers.deleteChannel(region, name, channelName, preconditions(request))
      return noContent(reply)
    }
  )
}
