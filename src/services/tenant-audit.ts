import { createHash } from 'node:crypto'
import { unchanged } from '../dynamo/conditions.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { eventOf, parseEvent, type TenantEntities, type TenantOperation } from '../entities/tenants.js'
import { assertMatch } from '../etag.js'
import { invalid, Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import { type StoredTenant, tenantNotFound } from './tenant-metadata.js'
import { isRecord, newestFirst, type StoredAudit, versionOf } from './tenant-operations.js'

export interface Outcome {
  status: 'Started' | 'Failure' | 'Success'
  execution: string
  reason?: string
}

const CONTENT = ['status', 'execution', 'updatedAt', 'retryCount', 'reason'] as const
const FINGERPRINT = 6

/** A record as the API shows it. */
export function presentAudit(record: StoredAudit) {
  const { operation } = parseEvent(record.event)
  const version = operation === 'DELETE' ? undefined : versionOf(record)
  const { status, execution, updatedAt, retryCount, reason } = record
  return { operation, version, status, execution, updatedAt, retryCount, reason }
}

/** The audit of tenants: the trail, and the outcomes that workflows tell. */
export function auditActions({ entities: { audit }, collections }: TenantEntities, { cursors, now }: ServiceContext) {
  /** All of a tenant, in one query; consistent, because what follows from it starts executions. */
  async function readTenant(tenantId: string) {
    const { data } = await collections
      .overview({ tenantId })
      .go({ ignoreOwnership: true, consistent: true, pages: 'all' })
    const metadata = data.tenant[0] as StoredTenant | undefined
    const records = (data.audit as StoredAudit[]).filter(isRecord).sort(newestFirst)
    return { metadata, records, isThere: metadata !== undefined || records.length > 0 }
  }

  /** What a workflow calls when it is done. Whether the record is still its own is decided in the write. */
  async function recordOutcome(
    tenantId: string,
    operation: TenantOperation,
    version: string | undefined,
    outcome: Outcome,
    { ifMatch }: Preconditions = {}
  ) {
    if (operation === 'UPDATE' && version === undefined) throw invalid('query/version', 'is required for an UPDATE')
    if (operation === 'DELETE' && version !== undefined) throw invalid('query/version', 'is not for a DELETE')
    const events = operation === 'CREATE' ? [eventOf('CREATE')] : [eventOf(operation, version)]
    // Ours has no version in its key; another program's may, and is looked for only if ours is not the one.
    if (operation === 'CREATE' && version !== undefined) events.push(eventOf('CREATE', version))
    let present: StoredAudit | undefined
    for (const event of events) {
      const seen = ifMatch === undefined ? undefined : await findMatching(tenantId, event, outcome.execution, ifMatch)
      const { rejected, record } = await write(tenantId, event, outcome, seen)
      if (rejected && seen) throw new Problem('precondition-failed')
      if (record && (!rejected || record.execution === outcome.execution)) return presentAudit(record)
      present ??= record
    }
    if (!present) throw new Problem('audit-not-found', `There is no record of ${operation} for tenant ${tenantId}`)
    throw new Problem('stale-execution', `The record belongs to ${present.execution ?? 'no execution'}`, {
      members: { execution: present.execution, audit: presentAudit(present) }
    })
  }

  /** The execution's own record, if it is what the caller says. */
  async function findMatching(tenantId: string, event: string, execution: string, ifMatch: string) {
    const { data } = await audit.get({ tenantId, event }).go({ consistent: true })
    if (data?.execution !== execution) return undefined
    assertMatch(ifMatch, presentAudit(data))
    return data
  }

  /** `Started` is a sign of life: it puts off the time-out of a record that is still open, and changes no other. */
  async function write(tenantId: string, event: string, { status, execution, reason }: Outcome, seen?: StoredAudit) {
    const isOwn = unchanged(['execution', ...(status === 'Started' ? ['status'] : [])], { execution, status })
    const { rejected, data } = await audit
      .patch({ tenantId, event })
      .data((attr, op) => {
        op.set(attr.status, status)
        op.set(attr.updatedAt, new Date(now()).toISOString())
        if (reason === undefined) op.remove(attr.reason)
        else op.set(attr.reason, reason)
        op.remove(attr.unanswered)
      })
      .where((attr, op) =>
        seen ? `${isOwn(attr, op)} AND ${unchanged(CONTENT, { ...seen })(attr, op)}` : isOwn(attr, op)
      )
      .go({ response: 'all_new', returnOnConditionCheckFailure: 'all_old' })
    return { rejected, record: (data ?? undefined) as StoredAudit | undefined }
  }

  /**
   * Every record, the newest first. Their keys are in another order and their times change, so each page reads them
   * all (a query; a tenant has a record for each version) and leaves out what the cursor says was given already.
   */
  async function listAudit(tenantId: string, request: PageRequest) {
    const page = await readPage(cursors, ['audit', tenantId], request, async ({ limit, cursor }) => {
      const { records, isThere } = await readTenant(tenantId)
      if (!isThere) throw tenantNotFound(tenantId)
      const given = fingerprints(cursor ?? '')
      const left = records.filter(record => !given.has(fingerprint(record)))
      const items = left.slice(0, limit)
      const next = (cursor ?? '') + items.map(fingerprint).join('')
      return { data: items, cursor: left.length > limit ? next : null }
    })
    return { ...page, items: page.items.map(presentAudit) }
  }

  return { readTenant, recordOutcome, listAudit }
}

/** 36 bits of a hash: enough to tell the versions of one tenant apart, short enough for a cursor. */
const fingerprint = ({ event }: StoredAudit) =>
  createHash('sha256').update(event).digest('base64url').slice(0, FINGERPRINT)

const fingerprints = (text: string) => new Set(text.match(new RegExp(`.{${FINGERPRINT}}`, 'g')))
