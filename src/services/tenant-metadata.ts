import { unchanged } from '../dynamo/conditions.js'
import type { TenantEntities } from '../entities/tenants.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'

export interface StoredTenant {
  tenantId: string
  createdAt?: string
  updatedAt?: string
  version?: string
  inboundQueueArn?: string
  inboundQueueUrl?: string
  outboundQueueArn?: string
  outboundQueueUrl?: string
}

export interface Stack {
  version: string
  inboundQueueArn: string
  inboundQueueUrl: string
}

const CONTENT = [
  'createdAt',
  'updatedAt',
  'version',
  'inboundQueueArn',
  'inboundQueueUrl',
  'outboundQueueArn',
  'outboundQueueUrl'
] as const

export const tenantNotFound = (id: string) => new Problem('tenant-not-found', `There is no tenant ${id}`)

/** The actions on a tenant's metadata. */
export function metadataActions({ entities: { tenant } }: TenantEntities, { now }: ServiceContext) {
  async function findTenant(tenantId: string): Promise<StoredTenant> {
    const { data } = await tenant.get({ tenantId }).go({ consistent: true })
    if (!data) throw tenantNotFound(tenantId)
    return data
  }

  async function getTenant(tenantId: string) {
    return presentTenant(await findTenant(tenantId))
  }

  /** What the write must find, if the caller says so. */
  async function findMatching(tenantId: string, ifMatch: string | undefined) {
    if (ifMatch === undefined) return undefined
    const { data: seen } = await tenant.get({ tenantId }).go({ consistent: true })
    assertMatch(ifMatch, seen ? presentTenant(seen) : undefined)
    return seen as StoredTenant
  }

  /** What the stack's custom resource calls: one update, which keeps what we do not know. */
  async function putTenant(tenantId: string, stack: Stack, { ifMatch, ifNoneMatch }: Preconditions = {}) {
    const seen = await findMatching(tenantId, ifMatch)
    const time = new Date(now()).toISOString()
    const { rejected, data: old } = await tenant
      .update({ tenantId })
      .data((attr, op) => {
        op.ifNotExists(attr.createdAt, time)
        op.set(attr.updatedAt, time)
        op.set(attr.version, stack.version)
        op.set(attr.inboundQueueArn, stack.inboundQueueArn)
        op.set(attr.inboundQueueUrl, stack.inboundQueueUrl)
        op.remove(attr.outboundQueueArn)
        op.remove(attr.outboundQueueUrl)
      })
      .where((attr, op) => {
        if (seen) return `attribute_exists(pk) AND ${unchanged(CONTENT, { ...seen })(attr, op)}`
        return ifNoneMatch === undefined ? '' : 'attribute_not_exists(pk)'
      })
      .go({ response: 'all_old', returnOnConditionCheckFailure: true })
    if (rejected) throw new Problem('precondition-failed')
    const before = old as StoredTenant | null
    const createdAt = before?.createdAt ?? time
    return { created: !before, tenant: presentTenant({ tenantId, ...stack, createdAt, updatedAt: time }) }
  }

  async function deleteTenant(tenantId: string, { ifMatch }: Preconditions = {}) {
    // What is not there is 404, whatever If-Match says.
    const seen = ifMatch === undefined ? undefined : await findTenant(tenantId)
    if (ifMatch !== undefined && seen) assertMatch(ifMatch, presentTenant(seen))
    const { rejected } = await tenant
      .remove({ tenantId })
      .where((attr, op) => (seen ? unchanged(CONTENT, { ...seen })(attr, op) : 'attribute_exists(pk)'))
      .go({ returnOnConditionCheckFailure: true })
    if (rejected) throw seen ? new Problem('precondition-failed') : tenantNotFound(tenantId)
  }

  return { getTenant, putTenant, deleteTenant }
}

/** The metadata as the API shows it. */
export function presentTenant(item: StoredTenant) {
  const { tenantId, createdAt, updatedAt, version, outboundQueueArn, outboundQueueUrl } = item
  const inbound = { arn: item.inboundQueueArn, url: item.inboundQueueUrl }
  const outbound = { arn: outboundQueueArn, url: outboundQueueUrl }
  return {
    tenantId,
    createdAt,
    updatedAt,
    version,
    ...((inbound.arn ?? inbound.url) ? { inboundQueue: inbound } : {}),
    ...((outbound.arn ?? outbound.url) ? { outboundQueue: outbound } : {})
  }
}
