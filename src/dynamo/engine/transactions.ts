import { createHash } from 'node:crypto'
import { consumed, type Unit } from './capacity.js'
import { type Expression, matches } from './conditions.js'
import type { Database } from './database.js'
import type { Operation, Parsed, Types } from './dynalite.js'
import { failure, isApiError, isConditionFailure, validation } from './errors.js'
import { Overlay } from './overlay.js'
import { checkFields, checkMember, judge, typesOf } from './request.js'
import { itemBytes } from './sizes.js'
import type { Tokens } from './tokens.js'
import type { Data, Item } from './types.js'
import { actOn } from './writes.js'

const MAX_BYTES = 4 * 1024 * 1024

/** Each kind of member, and the operation that checks it and does it. */
const kinds = { ConditionCheck: 'DeleteItem', Put: 'PutItem', Update: 'UpdateItem', Delete: 'DeleteItem' } as const

type Kind = keyof typeof kinds

interface Member {
  kind: Kind
  operation: Operation
  request: Parsed
  /** The key, or the item that holds it. */
  key: Item
}

interface Reason {
  Code: string
  Message?: string
  Item?: Item
}

const required = { type: 'String', notNull: true }

const memberTypes = (kind: Kind): Types => {
  const { Expected, ConditionalOperator, AttributeUpdates, ReturnValues, ...types } = typesOf(kinds[kind])
  if (kind === 'ConditionCheck') return { ...types, ConditionExpression: required }
  return kind === 'Update' ? { ...types, UpdateExpression: required } : types
}

const memberRules = Object.keys(kinds).map(kind => [
  kind,
  { type: `FieldStruct<${kind}>`, children: memberTypes(kind as Kind) }
])

const types = {
  ReturnConsumedCapacity: { type: 'String', enum: ['INDEXES', 'TOTAL', 'NONE'] },
  ReturnItemCollectionMetrics: { type: 'String', enum: ['SIZE', 'NONE'] },
  ClientRequestToken: { type: 'String', lengthGreaterThanOrEqual: 1, lengthLessThanOrEqual: 36 },
  TransactItems: {
    type: 'List',
    notNull: true,
    lengthGreaterThanOrEqual: 1,
    lengthLessThanOrEqual: 100,
    children: { type: 'ValueStruct<TransactWriteItem>', children: Object.fromEntries(memberRules) }
  }
}

/** TransactWriteItems: every condition is judged on the state before, and all is written as one batch, or nothing. */
export const transactWrite = (db: Database, tokens: Tokens) => async (data: Data) => {
  const hash = createHash('sha256').update(canonical(data.TransactItems)).digest('base64')
  const request = checkFields(data, types)
  const token = request.ClientRequestToken as string | undefined
  const members = (request.TransactItems as Data[]).map(toMember)
  return db.write(async () => {
    const overlay = new Overlay(db)
    if (token !== undefined && tokens.isKnown(token, hash)) return repeated(overlay, request, members)
    refuseRepeated(overlay, members)
    const units = await writeAll(overlay, members)
    const stored = token === undefined ? undefined : tokens.note(overlay, token, hash)
    await overlay.commit()
    stored?.()
    return consumed('Write', request.ReturnConsumedCapacity, units, overlay.moves)
  })
}

/** What was done already is only read again. */
function repeated(overlay: Overlay, { ReturnConsumedCapacity }: Data, members: Member[]) {
  const units = members.map(({ request: { TableName }, key }) => ({
    table: TableName,
    bytes: itemBytes(overlay.item(TableName, key) ?? {})
  }))
  return consumed('Read', ReturnConsumedCapacity, units)
}

function toMember(member: Data): Member {
  const [kind, ...others] = Object.keys(member) as Kind[]
  if (kind === undefined || others.length > 0) {
    throw validation('TransactItems can only contain one of Check, Put, Update or Delete')
  }
  const operation = kinds[kind]
  const request = member[kind] as Parsed
  checkMember(operation, request)
  return { kind, operation, request, key: (request.Key ?? request.Item) as Item }
}

function refuseRepeated(overlay: Overlay, members: Member[]): void {
  const seen = new Set<string | symbol>()
  let bytes = 0
  for (const { operation, request, key } of members) {
    const { TableName } = request
    // What is wrong with a key is told with the other reasons.
    const isInvalid = overlay.invalidKey(TableName, key, operation === 'PutItem')
    const place = isInvalid ? Symbol(TableName) : overlay.place(TableName, key)
    if (seen.has(place)) throw validation('Transaction request cannot include multiple operations on one item')
    seen.add(place)
    bytes += itemBytes((request.Item ?? {}) as Item) + itemBytes((request.ExpressionAttributeValues ?? {}) as Item)
  }
  if (bytes > MAX_BYTES) throw validation(`Transaction payload size cannot exceed 4MB. Payload Size: ${bytes}`)
}

async function writeAll(overlay: Overlay, members: Member[]): Promise<Unit[]> {
  const reasons: Reason[] = []
  const units: Unit[] = []
  for (const member of members) {
    try {
      units.push(await writeOne(overlay, member))
      reasons.push({ Code: 'None' })
    } catch (err) {
      reasons.push(reasonOf(err, overlay, member))
    }
  }
  if (reasons.every(reason => reason.Code === 'None')) return units
  const codes = reasons.map(reason => reason.Code).join(', ')
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`
  throw failure('TransactionCanceledException', message, { CancellationReasons: reasons })
}

async function writeOne(overlay: Overlay, { kind, operation, request, key }: Member): Promise<Unit> {
  const invalid = overlay.invalidKey(request.TableName, key, operation === 'PutItem')
  if (invalid) throw invalid
  const old = overlay.item(request.TableName, key)
  if (kind === 'ConditionCheck') {
    const { expression } = request._condition as { expression: Expression }
    if (!matches(old ?? {}, expression))
      throw failure('ConditionalCheckFailedException', 'The conditional request failed')
  } else {
    await actOn(overlay, operation, judge(request))
  }
  const bytes = [old, overlay.item(request.TableName, key)].map(item => (item ? itemBytes(item) : 0))
  return { table: request.TableName, bytes: Math.max(...bytes) }
}

function reasonOf(err: unknown, overlay: Overlay, { request, key }: Member): Reason {
  if (!isApiError(err) || String(err.body.__type).endsWith('ResourceNotFoundException')) throw err
  if (!isConditionFailure(err)) return { Code: 'ValidationError', Message: err.message }
  const reason: Reason = { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed' }
  const old = request.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && overlay.item(request.TableName, key)
  return old ? { ...reason, Item: old } : reason
}

/** JSON whose order of names does not matter: the same content is the same text. */
function canonical(node: unknown): string {
  if (typeof node !== 'object' || node === null) return JSON.stringify(node) ?? 'null'
  if (Array.isArray(node)) return `[${node.map(canonical).join()}]`
  const parts = Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${parts.map(([name, part]) => `${JSON.stringify(name)}:${canonical(part)}`).join()}}`
}
