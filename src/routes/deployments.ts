import { IfMatch, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/hosting.js'
import type { Preconditions } from '../services/context.js'
import type { Status } from '../services/deployment-status.js'
import type { presentDeployment, StatusFields } from '../services/deployments.js'
import type { HostingService } from '../services/hosting.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'

const tags = ['hosting']

/** `/v1/deployments`: what was built, how far it is, and what points at it. */
export const deploymentRoutes: Routes<HostingService> = async (app, { service: hosting }) => {
  app.post(
    '/deployments',
    {
      schema: {
        operationId: 'createDeployment',
        tags,
        summary: 'Create a deployment',
        description: 'It begins as `INITIALIZED`. Of callers who bring the same id, one creates it.',
        body: schema.NewDeployment,
        response: { 201: schema.Deployment, ...problems('deployment-exists') }
      }
    },
    async (request, reply) => {
      const deployment = await hosting.createDeployment(request.body)
      return created(reply, ['deployments', deployment.deploymentId], deployment)
    }
  )

  app.get(
    '/deployments',
    {
      schema: {
        operationId: 'listDeployments',
        tags,
        summary: 'List deployments, the newest first',
        description:
          'With what the index carries. With `status`, a page may hold fewer than `limit` while there are more.',
        querystring: schema.DeploymentQuery,
        response: { 200: schema.DeploymentPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await hosting.listDeployments(request.query))
  )

  app.get(
    '/deployments/:deploymentId',
    {
      schema: {
        operationId: 'getDeploymentById',
        tags,
        summary: 'Get a deployment',
        description: 'Everything that is stored of it, with its status.',
        params: schema.DeploymentParams,
        response: { 200: schema.Deployment, ...problems('deployment-not-found') }
      }
    },
    request => hosting.getDeploymentById(request.params.deploymentId)
  )

  app.put(
    '/deployments/:deploymentId/status',
    {
      schema: {
        operationId: 'updateDeploymentStatus',
        tags,
        summary: 'Tell how far a deployment is',
        description:
          'Only legal moves are made, and the present status may be told again. `CREATE_IN_PROGRESS` resets the lambda routes unless it brings some.',
        params: schema.DeploymentParams,
        headers: IfMatch,
        body: schema.StatusChange,
        response: {
          200: schema.Deployment,
          ...problems('deployment-not-found', 'invalid-transition', 'precondition-failed', 'item-too-large')
        }
      }
    },
    request => {
      const { status, ...fields } = request.body
      return updateStatus(hosting)[status](request.params.deploymentId, fields, preconditions(request))
    }
  )

  app.delete(
    '/deployments/:deploymentId',
    {
      schema: {
        operationId: 'deleteDeploymentById',
        tags,
        summary: 'Delete a deployment, or request its destruction',
        description:
          'Without a stack it is removed with its own alias (204). With one, its own alias is removed and it becomes `DESTROY_REQUESTED` (202); once its destruction is in progress or has failed, `force` removes it.',
        params: schema.DeploymentParams,
        headers: IfMatch,
        querystring: schema.DeletionQuery,
        response: {
          202: schema.Deployment,
          204: NoContent,
          ...problems(
            'deployment-not-found',
            'aliases-exist',
            'invalid-transition',
            'concurrent-changes',
            'precondition-failed'
          )
        }
      }
    },
    async (request, reply) => {
      const { deploymentId } = request.params
      const destroying = await hosting.deleteDeploymentById(deploymentId, request.query, preconditions(request))
      return destroying ? reply.code(202).send(destroying) : noContent(reply)
    }
  )

  app.get(
    '/deployments/:deploymentId/aliases',
    {
      schema: {
        operationId: 'listAliasesForDeployment',
        tags,
        summary: 'List the aliases of a deployment, the newest first',
        description: 'Every alias that points at the deployment, its own one included.',
        params: schema.DeploymentParams,
        querystring: strict(PageQuery),
        response: { 200: schema.AliasPage, ...problems('deployment-not-found', 'invalid-cursor') }
      }
    },
    async (request, reply) =>
      page(request, reply, await hosting.listAliasesForDeployment(request.params.deploymentId, request.query))
  )
}

type UpdateStatus = (
  id: string,
  fields: StatusFields,
  demands: Preconditions
) => Promise<ReturnType<typeof presentDeployment>>

/** The document's action for each status; the general one for those that have none of their own. */
const updateStatus = (hosting: HostingService): Record<Status, UpdateStatus> => ({
  INITIALIZED: (id, fields, demands) =>
    hosting.updateDeploymentStatus(id, { ...fields, status: 'INITIALIZED' }, demands),
  CREATE_IN_PROGRESS: hosting.updateDeploymentStatusCreateInProgress,
  CREATE_COMPLETE: (id, fields, demands) =>
    hosting.updateDeploymentStatus(id, { ...fields, status: 'CREATE_COMPLETE' }, demands),
  CREATE_FAILED: hosting.updateDeploymentStatusCreateFailed,
  FINISHED: hosting.updateDeploymentStatusFinished,
  DESTROY_REQUESTED: hosting.updateDeploymentStatusDestroyRequested,
  DESTROY_IN_PROGRESS: hosting.updateDeploymentStatusDestroyInProgress,
  DESTROY_FAILED: hosting.updateDeploymentStatusDestroyFailed
})
