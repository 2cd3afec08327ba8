import { IfMatch, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/projects.js'
import type { ProjectsService } from '../services/projects.js'
import { sendOverview } from './overview.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'
import { targetRoutes } from './targets.js'

const tags = ['projects']
/** A project's own token may call these. */
const config = { projectToken: true }

/** `/v1/projects`: Cello's projects, tokens and targets. */
export const projectRoutes: Routes<ProjectsService> = async (app, { service: projects }) => {
  app.post(
    '/projects',
    {
      schema: {
        operationId: 'createProject',
        tags,
        summary: 'Create a project',
        description: 'The name is taken by one caller only, and not while a project of that name is being deleted.',
        body: schema.NewProject,
        response: { 201: schema.Project, ...problems('project-exists', 'project-deleting') }
      }
    },
    async (request, reply) => {
      const project = await projects.createProject(request.body)
      return created(reply, ['projects', project.name], project)
    }
  )

  app.get(
    '/projects/:name',
    {
      config,
      schema: {
        operationId: 'getProject',
        tags,
        summary: 'Get a project',
        description: 'Its name and repository. A project that is being deleted is not found.',
        params: schema.ProjectParams,
        response: { 200: schema.Project, ...problems('project-not-found') }
      }
    },
    request => projects.getProject(request.params.name)
  )

  app.get(
    '/projects/:name/overview',
    {
      config,
      schema: {
        operationId: 'getProjectOverview',
        tags,
        summary: 'Get a project with its tokens and targets',
        description:
          'All of the project’s partition, in one query for each megabyte. More than one page is sent as it is read, with ' +
          'the `ETag` in the trailer, unless the request has `If-None-Match`.',
        params: schema.ProjectParams,
        response: { 200: schema.ProjectOverview, ...problems('project-not-found') }
      }
    },
    (request, reply) => sendOverview(request, reply, projects.readProjectOverview(request.params.name))
  )

  app.patch(
    '/projects/:name',
    {
      schema: {
        operationId: 'updateProject',
        tags,
        summary: 'Change a project’s repository',
        description: '`If-Match` makes it depend on what you have seen.',
        params: schema.ProjectParams,
        headers: IfMatch,
        body: schema.ProjectChange,
        response: { 200: schema.Project, ...problems('project-not-found', 'precondition-failed') }
      }
    },
    request => projects.updateProject(request.params.name, request.body, preconditions(request))
  )

  app.delete(
    '/projects/:name',
    {
      schema: {
        operationId: 'deleteProject',
        tags,
        summary: 'Delete a project with all its tokens and targets',
        description: 'Its tokens end at once. Repeat the call if it breaks off: it goes on where it was.',
        params: schema.ProjectParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('project-not-found', 'precondition-failed', 'concurrent-changes') }
      }
    },
    async (request, reply) => {
      await projects.deleteProject(request.params.name, preconditions(request))
      return noContent(reply)
    }
  )

  app.post(
    '/projects/:name/tokens',
    {
      schema: {
        operationId: 'createToken',
        tags,
        summary: 'Create a token; its secret is shown this once',
        description:
          'Only a hash of the secret is stored, so keep the answer. Without a body the token lives 365 days.',
        params: schema.ProjectParams,
        body: schema.TokenLife,
        response: { 201: schema.NewToken, ...problems('project-not-found') }
      }
    },
    async (request, reply) => {
      const token = await projects.createToken(request.params.name, request.body)
      return created(reply, ['projects', request.params.name, 'tokens', token.tokenId], token)
    }
  )

  app.get(
    '/projects/:name/tokens',
    {
      config,
      schema: {
        operationId: 'listTokens',
        tags,
        summary: 'List a project’s tokens',
        description: 'Every token without its secret; those that open nothing are marked `active: false`.',
        params: schema.ProjectParams,
        querystring: strict(PageQuery),
        response: { 200: schema.TokenPage, ...problems('project-not-found', 'invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await projects.listTokens(request.params.name, request.query))
  )

  app.get(
    '/projects/:name/tokens/:tokenId',
    {
      config,
      schema: {
        operationId: 'getToken',
        tags,
        summary: 'Get a token, without its secret',
        description: 'When it was made, when it ends, and whether it opens anything now.',
        params: schema.TokenParams,
        response: { 200: schema.Token, ...problems('project-not-found', 'token-not-found') }
      }
    },
    request => projects.getToken(request.params.name, request.params.tokenId)
  )

  app.delete(
    '/projects/:name/tokens/:tokenId',
    {
      schema: {
        operationId: 'deleteToken',
        tags,
        summary: 'Delete a token',
        description: 'It opens nothing from that moment on.',
        params: schema.TokenParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('project-not-found', 'token-not-found', 'precondition-failed') }
      }
    },
    async (request, reply) => {
      await projects.deleteToken(request.params.name, request.params.tokenId, preconditions(request))
      return noContent(reply)
    }
  )

  app.post(
    '/projects/:name/tokens/:tokenId/rotate',
    {
      schema: {
        operationId: 'rotateToken',
        tags,
        summary: 'Replace a token by a new one',
        description: 'The old token ends after the grace period, or when it would have ended anyway.',
        params: schema.TokenParams,
        body: schema.Rotation,
        response: { 201: schema.NewToken, ...problems('project-not-found', 'token-not-found') }
      }
    },
    async (request, reply) => {
      const { name, tokenId } = request.params
      const token = await projects.rotateToken(name, tokenId, request.body)
      return created(reply, ['projects', name, 'tokens', token.tokenId], token)
    }
  )

  app.post(
    '/projects/:name/tokens/introspect',
    {
      schema: {
        operationId: 'introspectToken',
        tags,
        summary: 'Ask whether a token opens this project',
        description: 'A wrong, unknown, expired or foreign token is `active: false`, never an error.',
        params: schema.ProjectParams,
        body: schema.TokenQuestion,
        response: { 200: schema.TokenVerdict, ...problems() }
      }
    },
    request => projects.introspectToken(request.params.name, request.body)
  )

  await targetRoutes(app, { service: projects })
}
