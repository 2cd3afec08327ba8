import { unchanged } from '../dynamo/conditions.js'
import { eventOf, operations, parseEvent, type TenantEntities, type TenantOperation } from '../entities/tenants.js'
import { Problem } from '../problems.js'
import type { ServiceContext } from './context.js'
import { type Provisioner, StartFailure } from './provisioner.js'
import { isOlder } from './versions.js'

export interface StoredAudit {
  tenantId: string
  event: string
  updatedAt?: string
  execution?: string
  status?: string
  retryCount?: number
  reason?: string
  input?: string
  unanswered?: boolean
}

/** The record that stands after an attempt to start, and whether this caller wrote it. */
interface Attempt {
  record: StoredAudit
  ours: boolean
  /** An execution of that name has been, and is over. */
  hasEnded?: boolean
}

/** What an execution is, before it is started. */
interface Execution {
  name: string
  input: string
  retryCount: number
}

export interface OperationSettings {
  /** The version of the tenants' stack that operations are for. */
  version: string
  /** After how many seconds a Started record is taken for abandoned. */
  operationTimeout: number
}

const SEEN = ['status', 'execution', 'updatedAt'] as const

/**
 * Starting operations, each by one caller only. The audit record is the claim: it is written first, conditionally, and
 * names the execution, so that at whatever point its writer dies the record tells the next caller what to ask for. An
 * abandoned claim is resumed under the same name, which Step Functions starts at most once; only where an execution of
 * that name is over without having told its outcome does a new one follow.
 */
export function tenantOperations(
  { entities: { audit } }: TenantEntities,
  { now, randomBytes }: ServiceContext,
  { version: current, operationTimeout }: OperationSettings,
  provisioner: Provisioner
) {
  const iso = (time: number) => new Date(time).toISOString()
  const lastMoment = () => iso(now() - operationTimeout * 1000)

  const isAbandoned = ({ status, updatedAt }: StoredAudit) =>
    status === 'Started' && (updatedAt === undefined || updatedAt <= lastMoment())

  /** A CREATE of an older version says nothing about the current one; one without a version is for any. */
  const isSuperseded = (record: StoredAudit) => {
    const version = versionOf(record)
    return version !== undefined && parseEvent(record.event).operation === 'CREATE' && isOlder(version, current)
  }

  /** Whether a new execution may take the record's place, now. */
  const isClaimable = (record: StoredAudit) =>
    record.status !== 'Started' || isAbandoned(record) || isSuperseded(record)

  /** The record that says how an operation stands for the current version, or that a new claim has to write over. */
  function recordOf(operation: TenantOperation, records: StoredAudit[]): StoredAudit | undefined {
    if (operation === 'UPDATE') return records.find(({ event }) => event === eventOf('UPDATE', current))
    const own = records.filter(({ event }) => parseEvent(event).operation === operation).sort(newestFirst)
    return own.find(record => !isSuperseded(record)) ?? own.find(({ event }) => event === operation)
  }

  /** Writes the claim, unless the record is no longer what was seen or, being another's, its time is not over. */
  async function claim(tenantId: string, event: string, execution: Execution, seen?: StoredAudit, isOurs = false) {
    const { operation } = parseEvent(event)
    const { rejected, data } = await audit
      .update({ tenantId, event })
      .set({
        status: 'Started',
        execution: provisioner.executionArn(operation, execution.name),
        updatedAt: iso(now()),
        retryCount: execution.retryCount,
        input: execution.input
      })
      .remove(['reason', 'unanswered'])
      .where((attr, op) => {
        if (!seen) return 'attribute_not_exists(pk)'
        const isSame = unchanged(SEEN, { ...seen })(attr, op)
        if (isOurs || seen.status !== 'Started' || isSuperseded(seen)) return isSame
        return `${isSame} AND (${op.notExists(attr.updatedAt)} OR ${op.lte(attr.updatedAt, lastMoment())})`
      })
      .go({ response: 'all_new', returnOnConditionCheckFailure: 'all_old' })
    return { record: data as StoredAudit, ours: !rejected }
  }

  /** A claim, and the start that it gives the right to. */
  async function attempt(...[tenantId, event, execution, seen, isOurs]: Parameters<typeof claim>): Promise<Attempt> {
    const claimed = await claim(tenantId, event, execution, seen, isOurs)
    if (!claimed.ours) return claimed
    try {
      const answer = await provisioner.start(parseEvent(event).operation, execution.name, execution.input)
      return { ...claimed, hasEnded: answer === 'ended' }
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error
      return recordFailure(claimed.record, error)
    }
  }

  /** The start failed: the record says so, unless the execution has told otherwise in the meantime. */
  async function recordFailure(claimed: StoredAudit, { message, unanswered }: StartFailure): Promise<Attempt> {
    const { rejected, data } = await audit
      .patch({ tenantId: claimed.tenantId, event: claimed.event })
      .set({ status: 'Failure', reason: message, updatedAt: iso(now()), ...(unanswered ? { unanswered } : {}) })
      .where(unchanged(SEEN, { ...claimed }))
      .go({ response: 'all_new', returnOnConditionCheckFailure: 'all_old' })
    if (!data) throw new Problem('concurrent-changes')
    return { record: data as StoredAudit, ours: !rejected }
  }

  /** Starts an operation for the current version over the record that was seen. */
  async function start(tenantId: string, operation: TenantOperation, seen?: StoredAudit): Promise<Attempt> {
    const event = seen?.event ?? eventOf(operation, operation === 'UPDATE' ? current : undefined)
    const isRetry = seen !== undefined && seen.status !== 'Success' && !isSuperseded(seen)
    const retryCount = isRetry ? (seen.retryCount ?? 0) + 1 : 0
    const input = JSON.stringify({ tenantId, version: current, retryCount })
    const anew = { name: newName(tenantId, operation), input, retryCount }
    if (!isRetry || !isResumable(operation, seen)) return attempt(tenantId, event, anew, seen)
    const resumed = await attempt(tenantId, event, resumption(seen), seen)
    return resumed.hasEnded ? attempt(tenantId, event, anew, resumed.record, true) : resumed
  }

  /** Whether the execution of a record may not have been started yet, and can be asked for again. */
  function isResumable(operation: TenantOperation, { status, execution, input, unanswered }: StoredAudit) {
    if (input === undefined || execution === undefined || !(status === 'Started' || unanswered)) return false
    return provisioner.executionArn(operation, nameOf(execution)) === execution
  }

  function resumption({ execution = '', input = '', status, retryCount = 0 }: StoredAudit): Execution {
    return { name: nameOf(execution), input, retryCount: status === 'Started' ? retryCount : retryCount + 1 }
  }

  /** A name that Step Functions takes (80 characters), that tells a reader something, and that is new. */
  function newName(tenantId: string, operation: TenantOperation): string {
    const tenant = tenantId.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 24)
    return [operation.toLowerCase(), current.replaceAll('.', '-'), tenant, randomBytes(8).toString('hex')].join('-')
  }

  return { start, recordOf, isClaimable, isSuperseded }
}

const nameOf = (execution: string) => execution.slice(execution.lastIndexOf(':') + 1)

/** The version that a record is for: in its key, or in what we started it with. */
export function versionOf({ event, input }: StoredAudit): string | undefined {
  return parseEvent(event).version ?? /"version":"([\d.]+)"/.exec(input ?? '')?.[1]
}

/** The newest record first; records of one moment keep an order. */
export function newestFirst(a: StoredAudit, b: StoredAudit): number {
  const [one = '', other = ''] = [a.updatedAt, b.updatedAt]
  if (one === other) return a.event < b.event ? -1 : 1
  return one > other ? -1 : 1
}

/** A record of an operation that we know; whatever else stands under AUDIT# is another program's. */
export const isRecord = ({ event }: StoredAudit) =>
  operations.some(name => event === name || event.startsWith(`${name}#`))
