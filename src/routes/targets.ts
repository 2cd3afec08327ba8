import { IfMatch, IfMatchOrNone, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/projects.js'
import type { ProjectsService } from '../services/projects.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'

const tags = ['projects']
/** A project's own token may call all of these. */
const config = { projectToken: true }

/** `/v1/projects/{name}/targets`: where a project may deploy to. */
export const targetRoutes: Routes<ProjectsService> = async (app, { service: projects }) => {
  app.get(
    '/projects/:name/targets',
    {
      config,
      schema: {
        operationId: 'listTargets',
        tags,
        summary: 'List a project’s targets',
        description: 'In the order of their names.',
        params: schema.ProjectParams,
        querystring: strict(PageQuery),
        response: { 200: schema.TargetPage, ...problems('project-not-found', 'invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await projects.listTargets(request.params.name, request.query))
  )

  app.get(
    '/projects/:name/targets/:target',
    {
      config,
      schema: {
        operationId: 'getTarget',
        tags,
        summary: 'Get a target',
        description: 'Its type and properties; properties that were stored as JSON text are shown as an object.',
        params: schema.TargetParams,
        response: { 200: schema.Target, ...problems('project-not-found', 'target-not-found') }
      }
    },
    request => projects.getTarget(request.params.name, request.params.target)
  )

  app.put(
    '/projects/:name/targets/:target',
    {
      config,
      schema: {
        operationId: 'putTarget',
        tags,
        summary: 'Add or replace a target',
        description:
          'Replaces type and properties as a whole. An `aws_account` is checked, and its `credential_type` stays what it ' +
          'was. The name of a new target is 4 to 32 letters, digits and underscores, of which the first is a letter.',
        params: schema.TargetParams,
        headers: IfMatchOrNone,
        body: schema.TargetContent,
        response: {
          200: schema.Target,
          201: schema.Target,
          ...problems(
            'project-not-found',
            'credential-type-fixed',
            'concurrent-changes',
            'precondition-failed',
            'item-too-large'
          )
        }
      }
    },
    async (request, reply) => {
      const { name, target: targetName } = request.params
      const result = await projects.putTarget(name, targetName, request.body, preconditions(request))
      return result.created ? created(reply, ['projects', name, 'targets', targetName], result.target) : result.target
    }
  )

  app.patch(
    '/projects/:name/targets/:target',
    {
      config,
      schema: {
        operationId: 'updateTarget',
        tags,
        summary: 'Change a target; properties are merged',
        description:
          'A merge patch (RFC 7396) of the properties, decided in the write, so that changes of others are kept.',
        params: schema.TargetParams,
        headers: IfMatch,
        body: schema.TargetChange,
        response: {
          200: schema.Target,
          ...problems(
            'project-not-found',
            'target-not-found',
            'credential-type-fixed',
            'concurrent-changes',
            'precondition-failed',
            'item-too-large'
          )
        }
      }
    },
    request => projects.updateTarget(request.params.name, request.params.target, request.body, preconditions(request))
  )

  app.delete(
    '/projects/:name/targets/:target',
    {
      config,
      schema: {
        operationId: 'deleteTarget',
        tags,
        summary: 'Delete a target',
        description: 'Only the target goes; what it deployed to is not touched.',
        params: schema.TargetParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('project-not-found', 'target-not-found', 'precondition-failed') }
      }
    },
    async (request, reply) => {
      await projects.deleteTarget(request.params.name, request.params.target, preconditions(request))
      return noContent(reply)
    }
  )
}
