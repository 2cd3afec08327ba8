import { IfMatch, IfMatchOrNone, NoContent, PageQuery, problems, strict } from '../schemas/common.js'
import * as schema from '../schemas/tenants.js'
import type { TenantsService } from '../services/tenants.js'
import { created, noContent, page, preconditions, type Routes } from './reply.js'

const tags = ['tenants']

/** `/v1/tenants`: queues for tenants, and the audit of how they came to be. */
export const tenantRoutes: Routes<TenantsService> = async (app, { service: tenants }) => {
  app.get(
    '/tenants',
    {
      schema: {
        operationId: 'listTenants',
        tags,
        summary: 'List tenants',
        description:
          'A scan: all pages together read the whole table once. A page may hold fewer items than `limit`, or none, while there is more.',
        querystring: schema.FleetQuery,
        response: { 200: schema.TenantPage, ...problems('invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await tenants.listTenants(request.query))
  )

  app.post(
    '/tenants::upgrade',
    {
      schema: {
        operationId: 'upgradeTenants',
        tags,
        summary: 'Upgrade outdated tenants, some at a time',
        description:
          'Starts an UPDATE to the current version for at most `limit` outdated tenants. Send the `cursor` of the answer to go on, or nothing to start over: an upgrade in progress is not started again, and one that has failed is left to `POST …/operations`.',
        body: schema.Upgrade,
        response: { 202: schema.UpgradePage, ...problems('invalid-cursor', 'concurrent-changes') }
      }
    },
    async (request, reply) => {
      reply.code(202)
      return tenants.upgradeTenants(request.body)
    }
  )

  app.get(
    '/tenants/:tenantId/queue',
    {
      schema: {
        operationId: 'getQueue',
        tags,
        summary: 'Get a tenant’s queue, or have it provisioned',
        description:
          'A tenant without a queue gets one: the first call starts it, all others are told to wait. `Retry-After` says for how long.',
        params: schema.TenantParams,
        response: {
          200: schema.TenantQueue,
          202: schema.Audit,
          ...problems('provisioning-failed', 'concurrent-changes')
        }
      }
    },
    async (request, reply) => {
      const { ready, waiting } = await tenants.getQueue(request.params.tenantId)
      if (ready) return ready
      reply.code(202).header('retry-after', tenants.retryAfter)
      return waiting
    }
  )

  app.get(
    '/tenants/:tenantId',
    {
      schema: {
        operationId: 'getTenant',
        tags,
        summary: 'Get a tenant’s metadata',
        description: 'What is stored of the tenant; its queue is at `/v1/tenants/{tenantId}/queue`.',
        params: schema.TenantParams,
        response: { 200: schema.Tenant, ...problems('tenant-not-found') }
      }
    },
    request => tenants.getTenant(request.params.tenantId)
  )

  app.put(
    '/tenants/:tenantId',
    {
      schema: {
        operationId: 'putTenant',
        tags,
        summary: 'Create or update a tenant’s metadata',
        description: 'What the stack’s custom resource calls. It clears what an older stack said of an outbound queue.',
        params: schema.TenantParams,
        headers: IfMatchOrNone,
        body: schema.TenantStack,
        response: { 200: schema.Tenant, 201: schema.Tenant, ...problems('precondition-failed') }
      }
    },
    async (request, reply) => {
      const { tenantId } = request.params
      const result = await tenants.putTenant(tenantId, request.body, preconditions(request))
      return result.created ? created(reply, ['tenants', tenantId], result.tenant) : result.tenant
    }
  )

  app.delete(
    '/tenants/:tenantId',
    {
      schema: {
        operationId: 'deleteTenant',
        tags,
        summary: 'Delete a tenant’s metadata',
        description: 'The audit stays. The stack is deleted by the operation DELETE.',
        params: schema.TenantParams,
        headers: IfMatch,
        response: { 204: NoContent, ...problems('tenant-not-found', 'precondition-failed') }
      }
    },
    async (request, reply) => {
      await tenants.deleteTenant(request.params.tenantId, preconditions(request))
      return noContent(reply)
    }
  )

  app.get(
    '/tenants/:tenantId/overview',
    {
      schema: {
        operationId: 'getTenantOverview',
        tags,
        summary: 'Get a tenant’s metadata and audit',
        description: 'Everything of the tenant, read together.',
        params: schema.TenantParams,
        response: { 200: schema.TenantOverview, ...problems('tenant-not-found') }
      }
    },
    request => tenants.getTenantOverview(request.params.tenantId)
  )

  app.post(
    '/tenants/:tenantId/operations',
    {
      schema: {
        operationId: 'startOperation',
        tags,
        summary: 'Start an operation, or start it again',
        description:
          'CREATE and UPDATE are for the current version. One execution at a time; after a failure it counts as a retry.',
        params: schema.TenantParams,
        body: schema.NewOperation,
        response: {
          202: schema.Audit,
          ...problems('operation-in-progress', 'concurrent-changes', 'provisioning-failed')
        }
      }
    },
    async (request, reply) => {
      const record = await tenants.startOperation(request.params.tenantId, request.body.operation)
      reply.code(202).header('retry-after', tenants.retryAfter)
      return record
    }
  )

  app.get(
    '/tenants/:tenantId/audit',
    {
      schema: {
        operationId: 'listAudit',
        tags,
        summary: 'List a tenant’s audit, the newest record first',
        description: 'Each record with its execution and, once it is known, its outcome.',
        params: schema.TenantParams,
        querystring: strict(PageQuery),
        response: { 200: schema.AuditPage, ...problems('tenant-not-found', 'invalid-cursor') }
      }
    },
    async (request, reply) => page(request, reply, await tenants.listAudit(request.params.tenantId, request.query))
  )

  app.put(
    '/tenants/:tenantId/audit/:operation',
    {
      schema: {
        operationId: 'recordOutcome',
        tags,
        summary: 'Record how an execution went',
        description:
          'What the workflow calls. `Started` is a sign of life, which puts off the time-out. A record that belongs to another execution is not touched.',
        params: schema.AuditParams,
        querystring: schema.AuditQuery,
        headers: IfMatch,
        body: schema.Outcome,
        response: { 200: schema.Audit, ...problems('audit-not-found', 'stale-execution', 'precondition-failed') }
      }
    },
    request => {
      const { tenantId, operation } = request.params
      return tenants.recordOutcome(tenantId, operation, request.query.version, request.body, preconditions(request))
    }
  )
}
