import type { TenantOperation } from '../entities/tenants.js'
import type { Provisioner } from './provisioner.js'

/** The calls that a workflow makes of the API. */
export interface WorkflowCalls {
  putTenant(
    tenantId: string,
    stack: { version: string; inboundQueueArn: string; inboundQueueUrl: string }
  ): Promise<unknown>
  deleteTenant(tenantId: string): Promise<void>
  recordOutcome(
    tenantId: string,
    operation: TenantOperation,
    version: string | undefined,
    outcome: { status: 'Success' | 'Failure'; execution: string; reason?: string }
  ): Promise<unknown>
}

/** How long an execution takes. */
const MOMENT_MS = 1000

/**
 * Stands in for Step Functions on a laptop: each execution ends after a moment, with a queue that is only a name, or
 * with a failure if the tenant's id contains `fail`. What a stop interrupts is taken over like any other execution.
 */
export function localProvisioner(calls: WorkflowCalls): Provisioner {
  const running = new Map<string, NodeJS.Timeout>()
  const executionArn = (operation: TenantOperation, name: string) =>
    `arn:aws:states:local:000000000000:execution:tenant-${operation.toLowerCase()}:${name}`

  /** An execution from its end: whatever goes wrong on the way is its outcome. */
  async function finish(operation: TenantOperation, execution: string, tenantId: string, version: string) {
    const record = (status: 'Success' | 'Failure', reason?: string) =>
      calls.recordOutcome(tenantId, operation, operation === 'UPDATE' ? version : undefined, {
        status,
        execution,
        reason
      })
    try {
      await carryOut(operation, tenantId, version)
    } catch (error) {
      return record('Failure', (error as Error).message)
    }
    return record('Success')
  }

  async function carryOut(operation: TenantOperation, tenantId: string, version: string): Promise<void> {
    if (tenantId.includes('fail')) throw new Error('The local provisioner fails for ids that contain "fail"')
    if (operation === 'DELETE') return calls.deleteTenant(tenantId).catch(ignoreMissing)
    const queue = `tenant-${encodeURIComponent(tenantId)}-inbound`
    await calls.putTenant(tenantId, {
      version,
      inboundQueueArn: `arn:aws:sqs:local:000000000000:${queue}`,
      inboundQueueUrl: `http://localhost/000000000000/${queue}`
    })
  }

  return {
    executionArn,
    async start(operation, name, input) {
      if (running.has(name)) return 'started'
      const { tenantId, version } = JSON.parse(input) as { tenantId: string; version: string }
      const timer = setTimeout(() => {
        // An outcome that cannot be told leaves the record to be taken over, as with a workflow that dies.
        finish(operation, executionArn(operation, name), tenantId, version)
          .catch(() => {})
          .finally(() => running.delete(name))
      }, MOMENT_MS)
      running.set(name, timer)
      return 'started'
    },
    retryAfter: 1,
    close() {
      for (const timer of running.values()) clearTimeout(timer)
      running.clear()
    }
  }
}

function ignoreMissing(error: unknown): void {
  if ((error as { code?: string }).code !== 'tenant-not-found') throw error
}
