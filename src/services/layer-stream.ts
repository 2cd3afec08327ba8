import { setTimeout as sleep } from 'node:timers/promises'
import { imageToJson } from '../dynamo/images.js'
import type { Attributes } from '../dynamo/values.js'
import { imageSummary, isLayerVersion, keyType } from '../entities/layers.js'

/** From the table's stream to the event bus: what TTL removed becomes an event, and nothing else does. */

/** A record as Lambda, the streams client or the embedded engine gives it. */
export interface StreamRecord {
  eventID?: string
  eventName?: string
  eventSourceARN?: string
  userIdentity?: { type?: string; principalId?: string; Type?: string; PrincipalId?: string }
  dynamodb?: {
    Keys?: object
    OldImage?: object
    ApproximateCreationDateTime?: number | Date
    SequenceNumber?: string
  }
}

/** A record in an event: JSON, with binary as base64. */
export interface RemovalRecord extends StreamRecord {
  dynamodb: { Keys: Attributes; OldImage: Attributes; ApproximateCreationDateTime?: number; SequenceNumber?: string }
}

/** What is said on the bus; the names are the document's. */
export interface RemovalDetail {
  pk_type: string
  sk_type: string
  record: RemovalRecord
}

export interface Entry {
  Source: string
  DetailType: 'REMOVE'
  Detail: string
}

interface BusAnswer {
  FailedEntryCount?: number
  Entries?: { EventId?: string; ErrorCode?: string; ErrorMessage?: string }[]
}

export interface StreamTools {
  /** EventBridge's PutEvents, or what stands for it. */
  putEvents(entries: Entry[]): Promise<BusAnswer>
  /** Puts a row back as deleted: for a row that is more than an event holds, before its summary is sent. */
  restore(record: RemovalRecord): Promise<unknown>
  /** Hears of what can never be handled. */
  report(reason: string, record: StreamRecord): void
  /** The stream's label, where records do not name their stream. */
  source?: string
  tries?: number
}

/** Something that no repetition will mend. */
export class Unprocessable extends Error {}

interface Message {
  record: StreamRecord
  entry: Entry
}

const MAX_ENTRIES = 10
/** EventBridge takes 256 KB a request; the rest is for what it counts beside our text. */
const MAX_BYTES = 250 * 1024
const TTL_SERVICE = 'dynamodb.amazonaws.com'
/** Entries that EventBridge will never take as they are. */
const NEVER = /^(MalformedDetail|InvalidArgument|ValidationException)$/

/** Puts the removals by TTL on the bus; gives back the records that are still to be told. */
export async function announceRemovals(records: StreamRecord[], tools: StreamTools): Promise<StreamRecord[]> {
  const failed: StreamRecord[] = []
  const messages: Message[] = []
  for (const record of records.filter(isExpiry)) {
    try {
      messages.push({ record, entry: await entryOf(record, tools) })
    } catch (error) {
      if (error instanceof Unprocessable) tools.report(error.message, record)
      else failed.push(record)
    }
  }
  for (const chunk of chunksOf(messages)) failed.push(...(await send(chunk, tools)))
  return failed
}

/** A delete by hand has another principal, or none. */
export function isExpiry({ eventName, userIdentity: by }: StreamRecord): boolean {
  return eventName === 'REMOVE' && (by?.principalId ?? by?.PrincipalId) === TTL_SERVICE
}

async function entryOf(record: StreamRecord, { source, restore }: StreamTools): Promise<Entry> {
  const Source = source ?? record.eventSourceARN?.split('/stream/')[1]
  if (!Source) throw new Unprocessable('The record does not name its stream')
  const detail = readable(() => detailOf(record))
  const entry: Entry = { Source, DetailType: 'REMOVE', Detail: JSON.stringify(detail) }
  if (sizeOf(entry) <= MAX_BYTES) return entry
  if (isLayerVersion(detail)) await restore(detail.record)
  const { dynamodb } = detail.record
  const summary = { ...detail.record, dynamodb: { ...dynamodb, OldImage: imageSummary(dynamodb.OldImage) } }
  const smaller = { ...entry, Detail: JSON.stringify({ ...detail, record: summary }) }
  if (sizeOf(smaller) > MAX_BYTES) throw new Unprocessable('The record is larger than an event')
  return smaller
}

/** What of a record cannot be read now cannot be read later. */
function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof Unprocessable ? error : new Unprocessable(`The record cannot be read: ${error}`)
  }
}

function detailOf(record: StreamRecord): RemovalDetail {
  const { Keys, OldImage, ApproximateCreationDateTime: at, ...rest } = record.dynamodb ?? {}
  const { pk, sk } = (Keys ?? {}) as Attributes
  if (pk?.S === undefined || sk?.S === undefined) throw new Unprocessable('The record has no keys of this table')
  if (!OldImage) throw new Unprocessable('The record has no old image')
  const { userIdentity: by } = record
  return {
    pk_type: keyType(pk.S),
    sk_type: keyType(sk.S),
    record: {
      ...record,
      userIdentity: { type: by?.type ?? by?.Type, principalId: by?.principalId ?? by?.PrincipalId },
      dynamodb: {
        ...rest,
        Keys: imageToJson(Keys as Attributes),
        OldImage: imageToJson(OldImage as Attributes),
        ApproximateCreationDateTime: at instanceof Date ? at.getTime() / 1000 : at
      }
    }
  }
}

const sizeOf = ({ Source, DetailType, Detail }: Entry) => Buffer.byteLength(Source + DetailType + Detail)

/** As many entries as one request takes, by number and by size. */
function chunksOf(messages: Message[]): Message[][] {
  const chunks: Message[][] = []
  let room = 0
  for (const message of messages) {
    const size = sizeOf(message.entry)
    const last = chunks.at(-1)
    if (last && last.length < MAX_ENTRIES && size <= room) last.push(message)
    else {
      chunks.push([message])
      room = MAX_BYTES
    }
    room -= size
  }
  return chunks
}

/** Sends a chunk, and again exactly what the bus refused of it. */
async function send(chunk: Message[], tools: StreamTools): Promise<StreamRecord[]> {
  let left = chunk
  for (let attempt = 0; left.length > 0 && attempt < (tools.tries ?? 5); attempt++) {
    if (attempt > 0) await sleep(Math.random() * Math.min(100 * 2 ** attempt, 5000))
    left = await sendOnce(left, tools)
  }
  return left.map(message => message.record)
}

/** What is left of a chunk after one request. */
async function sendOnce(chunk: Message[], tools: StreamTools): Promise<Message[]> {
  let answer: BusAnswer
  try {
    answer = await tools.putEvents(chunk.map(message => message.entry))
  } catch (error) {
    return afterFailure(error as Error, chunk, tools)
  }
  const { FailedEntryCount, Entries = [] } = answer
  if (!FailedEntryCount && Entries.every(({ ErrorCode }) => ErrorCode === undefined)) return []
  return chunk.filter(({ record }, i) => {
    const { EventId, ErrorCode, ErrorMessage } = Entries[i] ?? {}
    if (EventId !== undefined && ErrorCode === undefined) return false
    if (!NEVER.test(ErrorCode ?? '')) return true
    tools.report(`The bus refuses it: ${ErrorCode} ${ErrorMessage ?? ''}`, record)
    return false
  })
}

/** A request that the bus calls invalid is sent in single entries, so that the one at fault keeps none of the others. */
async function afterFailure(error: Error, chunk: Message[], tools: StreamTools): Promise<Message[]> {
  if (!NEVER.test(error.name)) return chunk
  if (chunk.length > 1) {
    const rest = []
    for (const message of chunk) rest.push(...(await sendOnce([message], tools)))
    return rest
  }
  for (const { record } of chunk) tools.report(`The bus refuses it: ${error.name} ${error.message}`, record)
  return []
}
