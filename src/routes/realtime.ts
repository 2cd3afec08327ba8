import { IfMatch, IfMatchOrNone, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/realtime.js'
import type { RealtimeService } from '../services/realtime.js'
import { stateTag } from '../services/states.js'
import { connectionRoutes } from './connections.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'

const tags = ['realtime']

/** `/v1/states` and all else of Compose: shared state and who hears of it. */
export const realtimeRoutes: Routes<RealtimeService> = async (app, { service: realtime }) => {
  app.get(
    '/states/:name',
    {
      schema: {
        operationId: 'getState',
        tags,
        summary: 'Get a state',
        description: 'The value as it was last written, with its version.',
        params: schema.StateParams,
        response: { 200: schema.State, ...problems('state-not-found') }
      }
    },
    async (request, reply) => {
      const state = await realtime.getState(request.params.name)
      reply.header('etag', stateTag(state))
      return state
    }
  )

  app.put(
    '/states/:name',
    {
      schema: {
        operationId: 'setState',
        tags,
        summary: 'Set a state',
        description:
          'Its version goes up by one and its subscribers get the value. `If-Match` with its `ETag` makes it a compare-and-set, decided by DynamoDB in the one request that writes.',
        params: schema.StateParams,
        headers: IfMatchOrNone,
        body: schema.StateContent,
        response: {
          200: schema.State,
          201: schema.State,
          ...problems('precondition-failed', 'nesting-too-deep', 'item-too-large')
        }
      }
    },
    async (request, reply) => {
      const { name } = request.params
      const { created: isNew, state } = await realtime.setState(name, request.body, preconditions(request))
      reply.header('etag', stateTag(state))
      return isNew ? created(reply, ['states', name], state) : state
    }
  )

  app.delete(
    '/states/:name',
    {
      schema: {
        operationId: 'deleteState',
        tags,
        summary: 'Delete a state',
        description: 'Its subscribers are told, and stay subscribed.',
        params: schema.StateParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('state-not-found', 'precondition-failed') }
      }
    },
    async (request, reply) => {
      await realtime.deleteState(request.params.name, preconditions(request))
      return noContent(reply)
    }
  )

  app.get(
    '/states/:name/subscriptions',
    {
      schema: {
        operationId: 'listSubscriptionsOfState',
        tags,
        summary: 'List the active subscriptions to a state',
        description: 'A page may hold fewer than `limit` while there is more: ended subscriptions are passed over.',
        params: schema.StateParams,
        querystring: strict(PageQuery),
        response: { 200: schema.SubscriptionPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) =>
      page(request, reply, await realtime.listSubscriptionsOfState(request.params.name, request.query))
  )

  app.get(
    '/states/:name/subscriptions/:connectionId',
    {
      schema: {
        operationId: 'getSubscription',
        tags,
        summary: 'Get an active subscription',
        description: 'Whether the connection hears of the state, and since when.',
        params: schema.SubscriptionParams,
        response: { 200: schema.Subscription, ...problems('subscription-not-found') }
      }
    },
    request => realtime.getSubscription(request.params.name, request.params.connectionId)
  )

  app.put(
    '/states/:name/subscriptions/:connectionId',
    {
      schema: {
        operationId: 'subscribe',
        tags,
        summary: 'Subscribe a connection to a state',
        description:
          'The state need not exist yet. An active subscription stays as it is, but for the `ttl` that is given. The connection of a socket gets the values from now on.',
        params: schema.SubscriptionParams,
        headers: IfMatchOrNone,
        body: schema.SubscriptionContent,
        response: {
          200: schema.Subscription,
          201: schema.Subscription,
          ...problems('connection-not-found', 'concurrent-changes', 'precondition-failed')
        }
      }
    },
    async (request, reply) => {
      const { name, connectionId } = request.params
      const result = await realtime.subscribe(name, connectionId, request.body, preconditions(request))
      const { created: isNew, subscription } = result
      return isNew ? created(reply, ['states', name, 'subscriptions', connectionId], subscription) : subscription
    }
  )

  app.delete(
    '/states/:name/subscriptions/:connectionId',
    {
      schema: {
        operationId: 'unsubscribe',
        tags,
        summary: 'End a subscription',
        description: 'It stays stored, as `unsubscribed`.',
        params: schema.SubscriptionParams,
        headers: IfMatch,
        querystring: schema.UnsubscribeQuery,
        response: { 204: NoContent, ...problems('subscription-not-found', 'precondition-failed') }
      }
    },
    async (request, reply) => {
      const { name, connectionId } = request.params
      await realtime.unsubscribe(name, connectionId, request.query.reason, preconditions(request))
      return noContent(reply)
    }
  )

  await app.register(connectionRoutes, { service: realtime })
}
