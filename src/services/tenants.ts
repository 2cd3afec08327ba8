import type { Dynamo } from '../dynamo/client.js'
import { type TenantOperation, tenantEntities } from '../entities/tenants.js'
import { Problem } from '../problems.js'
import type { ServiceContext } from './context.js'
import { fleetActions } from './fleet.js'
import { localProvisioner } from './local-provisioner.js'
import type { Provisioner } from './provisioner.js'
import type { StepFunctionsOptions } from './step-functions.js'
import { auditActions, presentAudit } from './tenant-audit.js'
import { metadataActions, presentTenant, type StoredTenant, tenantNotFound } from './tenant-metadata.js'
import { type OperationSettings, type StoredAudit, tenantOperations } from './tenant-operations.js'
import { isOlder } from './versions.js'

export interface TenantSettings extends OperationSettings {
  /** Without it the local provisioner stands in. */
  stepFunctions?: StepFunctionsOptions
}

const MAX_TRIES = 4

/** What can be done with tenants: their metadata, and the queue that they get exactly once. */
export async function tenantsService(dynamo: Dynamo, table: string, context: ServiceContext, settings: TenantSettings) {
  const entities = tenantEntities(dynamo, table)
  const metadata = metadataActions(entities, context)
  const { readTenant, ...audits } = auditActions(entities, context)
  const provisioner: Provisioner = settings.stepFunctions
    ? (await import('./step-functions.js')).stepFunctions(settings.stepFunctions)
    : localProvisioner({ ...metadata, recordOutcome: audits.recordOutcome })
  const operations = tenantOperations(entities, context, settings, provisioner)

  async function getTenantOverview(tenantId: string) {
    const { metadata, records, isThere } = await readTenant(tenantId)
    if (!isThere) throw tenantNotFound(tenantId)
    return { metadata: metadata ? presentTenant(metadata) : null, audit: records.map(presentAudit) }
  }

  /** The document's flow: the queue; or wait; or an error; and the first to ask for a missing one has it provisioned. */
  async function getQueue(tenantId: string) {
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      const { metadata, records } = await readTenant(tenantId)
      const queue = metadata && inboundQueue(metadata)
      if (queue) {
        const { version } = metadata
        return { ready: { tenantId, queue, version, outdated: isOlder(version, settings.version) } }
      }
      const seen = operations.recordOf('CREATE', records)
      if (seen && !operations.isSuperseded(seen)) {
        if (seen.status === 'Failure') throw provisioningFailed(seen)
        if (!operations.isClaimable(seen)) return { waiting: presentAudit(seen) }
      }
      const { record } = await operations.start(tenantId, 'CREATE', seen)
      if (record?.status === 'Failure') throw provisioningFailed(record)
      if (record?.status === 'Started') return { waiting: presentAudit(record) }
    }
    throw new Problem('concurrent-changes')
  }

  /** Starts an operation, also again after a failure or a success; one at a time. */
  async function startOperation(tenantId: string, operation: TenantOperation) {
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      const { records } = await readTenant(tenantId)
      const seen = operations.recordOf(operation, records)
      if (seen && !operations.isClaimable(seen)) throw inProgress(seen)
      const { record, ours } = await operations.start(tenantId, operation, seen)
      if (ours && record.status === 'Failure') throw provisioningFailed(record)
      if (ours) return presentAudit(record)
      if (record?.status === 'Started') throw inProgress(record)
    }
    throw new Problem('concurrent-changes')
  }

  return {
    ...metadata,
    getTenantOverview,
    getQueue,
    startOperation,
    ...audits,
    ...fleetActions(dynamo, entities, context, settings.version, operations),
    retryAfter: provisioner.retryAfter,
    close: () => provisioner.close()
  }
}

export type TenantsService = Awaited<ReturnType<typeof tenantsService>>

function inboundQueue({ inboundQueueArn: arn, inboundQueueUrl: url }: StoredTenant) {
  return arn === undefined || url === undefined ? undefined : { arn, url }
}

const carrying = (record: StoredAudit) => ({
  members: { execution: record.execution, reason: record.reason, audit: presentAudit(record) }
})

const inProgress = (record: StoredAudit) =>
  new Problem('operation-in-progress', `It was started at ${record.updatedAt}`, carrying(record))

const provisioningFailed = (record: StoredAudit) =>
  new Problem('provisioning-failed', record.reason ?? 'The execution failed without a reason', carrying(record))
