import { IfMatch, NoContent, problems } from '../schemas/common.js'
import * as schema from '../schemas/hosting.js'
import type { HostingService } from '../services/hosting.js'
import { aliasName } from '../services/hostnames.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'

const tags = ['hosting']

/** The name that an address gives an alias. */
const named = ({ params, query }: { params: { hostname: string }; query: { basePath?: string } }) =>
  aliasName(params.hostname, query.basePath)

/** `/v1/aliases` and `/v1/resolve`: where deployments are served. */
export const aliasRoutes: Routes<HostingService> = async (app, { service: hosting }) => {
  app.post(
    '/aliases',
    {
      schema: {
        operationId: 'createAlias',
        tags,
        summary: 'Create an alias, or move one',
        description:
          'The routes are copied from the target’s deployment. With `override` an alias that is there is moved (200), and keeps its config unless it gets another; a deployment’s own alias cannot be moved.',
        body: schema.NewAlias,
        response: {
          200: schema.Alias,
          201: schema.Alias,
          ...problems(
            'target-not-found',
            'alias-exists',
            'deployment-alias',
            'deployment-destroying',
            'concurrent-changes',
            'item-too-large'
          )
        }
      }
    },
    async (request, reply) => {
      const { created: isNew, alias } = await hosting.createAlias(request.body)
      if (!isNew) return alias
      created(reply, ['aliases', alias.hostname], alias)
      if (alias.basePath !== '/') {
        const query = new URLSearchParams({ basePath: alias.basePath })
        reply.header('location', `${reply.getHeader('location')}?${query}`)
      }
      return alias
    }
  )

  app.post(
    '/aliases::swap',
    {
      schema: {
        operationId: 'swapAliases',
        tags,
        summary: 'Move up to 25 aliases, all or none',
        description: 'A target that is an alias stands for where it points before the call, so two can change places.',
        body: schema.AliasMoves,
        response: {
          200: schema.MovedAliases,
          ...problems(
            'alias-not-found',
            'target-not-found',
            'deployment-alias',
            'deployment-destroying',
            'concurrent-changes',
            'item-too-large',
            'transaction-too-large'
          )
        }
      }
    },
    request => hosting.swapAliases(request.body)
  )

  app.get(
    '/aliases/:hostname',
    {
      schema: {
        operationId: 'getAliasById',
        tags,
        summary: 'Get an alias, with its config',
        description:
          'The alias of exactly this host and base path; to find which one serves an address, use `/v1/resolve`.',
        params: schema.AliasParams,
        querystring: schema.AliasQuery,
        response: { 200: schema.Alias, ...problems('alias-not-found') }
      }
    },
    request => hosting.getAliasById(named(request))
  )

  app.delete(
    '/aliases/:hostname',
    {
      schema: {
        operationId: 'deleteAliasById',
        tags,
        summary: 'Delete an alias',
        description: 'A deployment’s own alias goes only with its deployment.',
        params: schema.AliasParams,
        headers: IfMatch,
        querystring: schema.AliasQuery,
        response: {
          204: NoContent,
          ...problems('alias-not-found', 'deployment-alias', 'concurrent-changes', 'precondition-failed')
        }
      }
    },
    async (request, reply) => {
      await hosting.deleteAliasById(named(request), preconditions(request))
      return noContent(reply)
    }
  )

  app.get(
    '/aliases/:hostname/history',
    {
      schema: {
        operationId: 'listAliasHistory',
        tags,
        summary: 'List where an alias pointed, the newest change first',
        description: 'Also of an alias that was deleted.',
        params: schema.AliasParams,
        querystring: schema.HistoryQuery,
        response: { 200: schema.HistoryPage, ...problems('alias-not-found', 'invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await hosting.listAliasHistory(named(request), request.query))
  )

  app.post(
    '/aliases/:hostname/revert',
    {
      schema: {
        operationId: 'revertAlias',
        tags,
        summary: 'Point an alias back',
        description:
          'To where the last change came from, or to where it pointed after the change `to`. Of callers who revert at once, one succeeds.',
        params: schema.AliasParams,
        querystring: schema.AliasQuery,
        body: schema.Revert,
        response: {
          200: schema.Alias,
          ...problems(
            'alias-not-found',
            'change-not-found',
            'target-not-found',
            'deployment-alias',
            'deployment-destroying',
            'nothing-to-revert',
            'concurrent-changes',
            'item-too-large'
          )
        }
      }
    },
    request => hosting.revertAlias(named(request), request.body)
  )

  app.get(
    '/resolve',
    {
      schema: {
        operationId: 'getAliasByHostname',
        tags,
        summary: 'Get the alias that serves a URL',
        description:
          'The exact host before `*.parent`, and of its aliases the longest base path that is a prefix of the path by whole segments.',
        querystring: schema.ResolveQuery,
        response: { 200: schema.Alias, ...problems('alias-not-found') }
      }
    },
    request => hosting.getAliasByHostname(request.query)
  )
}
