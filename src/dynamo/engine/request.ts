import { type Expression, judgedHere } from './conditions.js'
import { type Operation, type Parsed, rules, type Types, validations } from './dynalite.js'
import { isApiError, serialization, tooLarge, validation } from './errors.js'
import { ungroup } from './grouping.js'
import { type LegacyCondition, toExpression } from './legacy.js'
import { tooDeep } from './overlay.js'
import { isDeeper, itemBytes, MAX_ITEM_BYTES, nestsTooDeep, wrongName, wrongNameIn } from './sizes.js'
import type { Data, Item } from './types.js'

// Deep enough for every item that is stored, in a batch: its request, its tables, their writes, the write, the put.
const MAX_BODY_DEPTH = 5 + 66
const MAX_EXPRESSION_BYTES = 4096

/** DynamoDB's limit for a request. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024

// We measure items ourselves, in bytes.
const unlimited = { options: { maxItemSize: Number.POSITIVE_INFINITY } }

const onFailure = { ReturnValuesOnConditionCheckFailure: { type: 'String', enum: ['ALL_OLD', 'NONE'] } }

const stream = {
  StreamSpecification: {
    type: 'FieldStruct<StreamSpecification>',
    children: {
      StreamEnabled: { type: 'Boolean', notNull: true },
      StreamViewType: { type: 'String', enum: ['NEW_IMAGE', 'OLD_IMAGE', 'NEW_AND_OLD_IMAGES', 'KEYS_ONLY'] }
    }
  }
}

/** What dynalite does not know of the operations it knows. */
const more: Partial<Record<Operation, Types>> = {
  PutItem: onFailure,
  UpdateItem: onFailure,
  DeleteItem: onFailure,
  Scan: { ConsistentRead: 'Boolean' },
  CreateTable: stream,
  // The first is how dynalite is told that a stream is change enough.
  UpdateTable: { UpdateStreamEnabled: 'Boolean', ...stream }
}

/** The fields of an operation's request. */
export const typesOf = (name: Operation): Types => ({ ...rules[name].types, ...more[name] })

const decoder = new TextDecoder()

/** Reads a request's body; whatever is not a JSON object is refused as DynamoDB would. */
export function parseBody(body: string | Uint8Array): Data {
  if (body.length > MAX_BODY_BYTES) throw tooLarge()
  const text = typeof body === 'string' ? body : decoder.decode(body)
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch {
    throw serialization('')
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw serialization('Unexpected value type in payload')
  }
  if (isDeeper(data, MAX_BODY_DEPTH)) throw tooDeep()
  if (/__proto__|\\u00/i.test(text)) refuseProto(data)
  return data as Data
}

/** dynalite would set an object's prototype instead of an attribute. */
function refuseProto(node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  if (Object.hasOwn(node, '__proto__')) {
    throw validation('The embedded engine does not store attributes of the name __proto__')
  }
  for (const part of Object.values(node)) refuseProto(part)
}

/** Checks a request of one of dynalite's operations and parses its expressions. */
export function check(name: Operation, data: Data): Parsed {
  const checked = checkFields(data, typesOf(name))
  checkMember(name, checked)
  return checked as Parsed
}

/** Checks a request's fields, their types and limits. */
export function checkFields(data: Data, types: Types): Data {
  return guarded(() => {
    const checked = validations.checkTypes(data, types)
    refuseNull(checked, [])
    validations.checkValidations(checked, types, undefined, unlimited)
    return checked
  })
}

/** Checks what an operation asks for beyond its fields. Also for one member of a transaction. */
export function checkMember(name: Operation, data: Data): void {
  for (const [field, value] of Object.entries(data)) {
    if (field.endsWith('Expression') && typeof value === 'string') checkExpressionSize(field, value)
  }
  const restoreGroups = ungroupAll(data)
  guarded(() => {
    const message = rules[name].custom?.(data, unlimited)
    if (message) throw validation(message)
  })
  restoreGroups()
  checkNames(data)
  for (const item of wholeItems(data)) {
    if (itemBytes(item) > MAX_ITEM_BYTES) throw validation('Item size has exceeded the maximum allowed size')
    if (nestsTooDeep(item)) throw tooDeep(': Attributes in the item have nested levels beyond supported limit')
  }
}

function checkNames(data: Data): void {
  for (const item of wholeItems(data)) {
    const message = wrongName(item)
    if (message) throw validation(message)
  }
  for (const [key, value] of Object.entries((data.ExpressionAttributeValues ?? {}) as Item)) {
    const message = wrongNameIn(value)
    if (message) throw validation(`ExpressionAttributeValues contains invalid value: ${message} for key ${key}`)
  }
}

/** Hands conditions and filters to dynalite's parser without their groups; call what this gives once they are parsed. */
function ungroupAll(data: Data): () => void {
  const undone: (() => void)[] = []
  for (const [field, parsed] of Object.entries(grouped)) {
    const text = data[field]
    const ungrouped = typeof text === 'string' ? ungroup(field, text) : undefined
    if (!ungrouped) continue
    data[field] = ungrouped.flat
    if (parsed === undefined) refuseOperator(ungrouped.operator)
    else undone.push(() => regroup(data, parsed, ungrouped.regroup))
  }
  return () => {
    for (const undo of undone) undo()
  }
}

// Of a key's conditions, dynalite makes something else, and they are joined by AND alone.
const grouped = { ConditionExpression: '_condition', FilterExpression: '_filter', KeyConditionExpression: undefined }

function regroup(data: Data, parsed: string, change: (flat: Expression) => Expression): void {
  const result = data[parsed] as { expression: Expression }
  data[parsed] = { ...result, expression: change(result.expression) }
}

function refuseOperator(operator: string | undefined): void {
  if (operator) throw validation(`Invalid operator used in KeyConditionExpression: ${operator.toUpperCase()}`)
}

/** Has conditions and filters judged by us, in the old style too. */
export function judge(data: Parsed): Parsed {
  const old = (conditions: unknown) =>
    toExpression(conditions as Record<string, LegacyCondition>, data.ConditionalOperator as string | undefined)
  const condition = data._condition?.expression ?? (data.Expected && old(data.Expected))
  const legacyFilter = data.QueryFilter ?? data.ScanFilter
  const filter = data._filter?.expression ?? (legacyFilter && old(legacyFilter))
  if (condition) data._condition = { ...data._condition, expression: judgedHere(condition as Expression) }
  if (filter) data._filter = { ...data._filter, expression: judgedHere(filter as Expression) }
  return data
}

function* wholeItems(data: Data): Generator<Item> {
  if (data.Item) yield data.Item as Item
  type Writes = Record<string, { PutRequest?: { Item: Item } }[]>
  for (const writes of Object.values((data.RequestItems ?? {}) as Writes)) {
    if (!Array.isArray(writes)) continue
    for (const write of writes) if (write.PutRequest) yield write.PutRequest.Item
  }
}

function checkExpressionSize(field: string, expression: string): void {
  const size = Buffer.byteLength(expression)
  if (size <= MAX_EXPRESSION_BYTES) return
  throw validation(`Invalid ${field}: Expression size has exceeded the maximum allowed size; expression size: ${size}`)
}

/** dynalite drops null fields but stumbles over null members of lists and maps. */
function refuseNull(node: unknown, path: string[]): void {
  if (node === null) throw nullAt(path)
  if (typeof node !== 'object') return
  for (const [name, part] of Object.entries(node)) {
    refuseNull(part, [...path, Array.isArray(node) ? `${Number(name) + 1}.member` : name])
  }
}

const holdsValues =
  /(^|\.)(Item|Key|Keys|ExclusiveStartKey|ExpressionAttributeValues|Value|AttributeValueList|L|M)(\.|$)/

function nullAt(path: string[]): Error {
  if (holdsValues.test(path.join('.'))) {
    return validation('Supplied AttributeValue is empty, must contain exactly one of the supported datatypes')
  }
  const place = path.map(validations.toLowerFirst).join('.')
  return validation(
    `1 validation error detected: Value null at '${place}' failed to satisfy constraint: Member must not be null`
  )
}

/** What makes dynalite's checks fall over is a malformed request, not our failure. */
function guarded<T>(task: () => T): T {
  try {
    return task()
  } catch (err) {
    if (isApiError(err)) throw err
    throw validation(`One or more parameter values were invalid: ${err instanceof Error ? err.message : err}`)
  }
}
