import { Entity, Service } from 'electrodb'
import type { Dynamo } from '../dynamo/client.js'
import { exact, key, keyOnly } from '../dynamo/exact.js'

export const operations = ['CREATE', 'UPDATE', 'DELETE'] as const
export type TenantOperation = (typeof operations)[number]

/** The tenants' table: what a tenant has, and how it came to it, in the tenant's partition. */
export function tenantEntities(client: Dynamo, table: string) {
  const config = { client, table }

  /** TENANT_ID#<id> / METADATA: the tenant's stack and its queues; the outbound one is of older stacks. */
  const tenant = exact(
    new Entity(
      {
        model: { service: 'tenants', entity: 'Tenant', version: '1' },
        attributes: {
          tenantId: keyOnly('tenantId'),
          createdAt: { type: 'string', field: 'CreatedAt' },
          updatedAt: { type: 'string', field: 'UpdatedAt' },
          version: { type: 'string', field: 'Version' },
          inboundQueueArn: { type: 'string', field: 'InboundQueueArn' },
          inboundQueueUrl: { type: 'string', field: 'InboundQueueUrl' },
          outboundQueueArn: { type: 'string', field: 'OutboundQueueArn' },
          outboundQueueUrl: { type: 'string', field: 'OutboundQueueUrl' }
        },
        indexes: {
          byTenant: {
            collection: 'overview',
            pk: key('pk', 'TENANT_ID#${tenantId}'),
            sk: key('sk', 'METADATA')
          }
        }
      } as const,
      config
    )
  )

  /** TENANT_ID#<id> / AUDIT#CREATE, AUDIT#UPDATE#<version>, AUDIT#DELETE: how an operation went the last time. */
  const audit = exact(
    new Entity(
      {
        model: { service: 'tenants', entity: 'Audit', version: '1' },
        attributes: {
          tenantId: keyOnly('tenantId'),
          /** The tail of the key, see `eventOf`. */
          event: keyOnly('event'),
          updatedAt: { type: 'string', field: 'UpdatedAt' },
          execution: { type: 'string', field: 'Execution' },
          status: { type: 'string', field: 'Status' },
          retryCount: { type: 'number', field: 'RetryCount' },
          reason: { type: 'string', field: 'Reason' },
          /** Ours: what the execution was started with, byte for byte, so that it can be asked for again. */
          input: { type: 'string', field: 'Input' },
          /** Ours: starting it was never answered, so that it may run although the record says Failure. */
          unanswered: { type: 'boolean', field: 'Unanswered' }
        },
        indexes: {
          byTenant: {
            collection: 'overview',
            pk: key('pk', 'TENANT_ID#${tenantId}'),
            sk: key('sk', 'AUDIT#${event}')
          }
        }
      } as const,
      config
    )
  )

  return new Service({ tenant, audit }, config)
}

export type TenantEntities = ReturnType<typeof tenantEntities>

/** The tail of an audit record's key. */
export const eventOf = (operation: TenantOperation, version?: string) =>
  version === undefined ? operation : `${operation}#${version}`

/** What the tail says. A CREATE of another program may have a version, ours has none. */
export function parseEvent(event: string): { operation: TenantOperation; version?: string } {
  const [operation, version] = event.split('#')
  return { operation: operation as TenantOperation, ...(version === undefined ? {} : { version }) }
}

/** The key of an item, where a scan can go on after it. */
export const keyOf = ({ pk, sk }: Record<string, unknown>) => ({ pk, sk })
