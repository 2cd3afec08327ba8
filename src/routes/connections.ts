import { IfMatch, IfMatchOrNone, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/realtime.js'
import type { RealtimeService } from '../services/realtime.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'

const tags = ['realtime']

/** `/v1/connections`, `/v1/users`: who hears of Compose's states. */
export const connectionRoutes: Routes<RealtimeService> = async (app, { service: realtime }) => {
  app.get(
    '/connections/:connectionId',
    {
      schema: {
        operationId: 'getConnection',
        tags,
        summary: 'Get a connection',
        description: 'A connection whose time has passed is not found.',
        params: schema.ConnectionParams,
        response: { 200: schema.Connection, ...problems('connection-not-found') }
      }
    },
    request => realtime.getConnection(request.params.connectionId)
  )

  app.put(
    '/connections/:connectionId',
    {
      schema: {
        operationId: 'connect',
        tags,
        summary: 'Connect a client of a user',
        description: 'Repeated, it renews the connection.',
        params: schema.ConnectionParams,
        headers: IfMatchOrNone,
        body: schema.ConnectionContent,
        response: { 200: schema.Connection, 201: schema.Connection, ...problems('precondition-failed') }
      }
    },
    async (request, reply) => {
      const { connectionId } = request.params
      const result = await realtime.connect(connectionId, request.body, preconditions(request))
      return result.created ? created(reply, ['connections', connectionId], result.connection) : result.connection
    }
  )

  app.delete(
    '/connections/:connectionId',
    {
      schema: {
        operationId: 'disconnect',
        tags,
        summary: 'End a connection and all its subscriptions',
        description:
          'Repeat the call if it breaks off: it goes on where it was. A socket of that connection is closed.',
        params: schema.ConnectionParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('connection-not-found', 'precondition-failed') }
      }
    },
    async (request, reply) => {
      await realtime.disconnect(request.params.connectionId, preconditions(request))
      return noContent(reply)
    }
  )

  app.get(
    '/connections/:connectionId/subscriptions',
    {
      schema: {
        operationId: 'listSubscriptionsOfConnection',
        tags,
        summary: 'List the active subscriptions of a connection',
        description: 'The states that the connection hears of.',
        params: schema.ConnectionParams,
        querystring: strict(PageQuery),
        response: { 200: schema.SubscriptionPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) =>
      page(request, reply, await realtime.listSubscriptionsOfConnection(request.params.connectionId, request.query))
  )

  app.get(
    '/users/:userId/connections',
    {
      schema: {
        operationId: 'listConnectionsOfUser',
        tags,
        summary: 'List the connections of a user',
        description: 'The connections that are alive, of all the user’s devices.',
        params: schema.UserParams,
        querystring: strict(PageQuery),
        response: { 200: schema.ConnectionPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) =>
      page(request, reply, await realtime.listConnectionsOfUser(request.params.userId, request.query))
  )

  app.get(
    '/users',
    {
      schema: {
        operationId: 'findUsersByEmail',
        tags,
        summary: 'Find the user of an email',
        description: 'A list of one, or an empty one: an email belongs to one user at most.',
        querystring: schema.EmailQuery,
        response: { 200: schema.UserPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await realtime.findUsersByEmail(request.query.email, request.query))
  )

  app.get(
    '/users/:userId',
    {
      schema: {
        operationId: 'getUser',
        tags,
        summary: 'Get a user',
        description: 'The id and the email.',
        params: schema.UserParams,
        response: { 200: schema.User, ...problems('user-not-found') }
      }
    },
    request => realtime.getUser(request.params.userId)
  )

  app.put(
    '/users/:userId',
    {
      schema: {
        operationId: 'putUser',
        tags,
        summary: 'Create a user, or change the email',
        description: 'The email is taken by one user only, whoever asks first.',
        params: schema.UserParams,
        headers: IfMatchOrNone,
        body: schema.UserContent,
        response: {
          200: schema.User,
          201: schema.User,
          ...problems('email-taken', 'concurrent-changes', 'precondition-failed')
        }
      }
    },
    async (request, reply) => {
      const { userId } = request.params
      const { created: isNew, user } = await realtime.putUser(userId, request.body, preconditions(request))
      return isNew ? created(reply, ['users', userId], user) : user
    }
  )

  app.delete(
    '/users/:userId',
    {
      schema: {
        operationId: 'deleteUser',
        tags,
        summary: 'Delete a user; the email is free again',
        description: 'Connections are not touched by it.',
        params: schema.UserParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('user-not-found', 'precondition-failed', 'concurrent-changes') }
      }
    },
    async (request, reply) => {
      await realtime.deleteUser(request.params.userId, preconditions(request))
      return noContent(reply)
    }
  )
}
