import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { Problem } from '../problems.js'

/** What an item holds as JavaScript: JSON, and the values that only DynamoDB knows. */
export type Item = Record<string, unknown>
export type Attributes = Record<string, AttributeValue>

const MAX_ITEM_BYTES = 400 * 1024
const MAX_DEPTH = 32
const MAX_KEY_BYTES = 1024

/** JavaScript to DynamoDB's attribute values; `undefined` members are left out. */
export function marshal(item: Item, depth = 0): Attributes {
  const out: Attributes = {}
  for (const name in item) {
    const value = item[name]
    if (value !== undefined) out[name] = toAttribute(value, depth)
  }
  return out
}

function toAttribute(value: unknown, depth: number): AttributeValue {
  switch (typeof value) {
    case 'string':
      return { S: value }
    case 'number':
      return { N: decimal(value) }
    case 'bigint':
      return { N: String(value) }
    case 'boolean':
      return { BOOL: value }
    case 'object':
      return value === null ? { NULL: true } : toContainer(value, depth)
    default:
      throw new TypeError(`DynamoDB does not store a ${typeof value}`)
  }
}

function toContainer(value: object, depth: number): AttributeValue {
  if (value instanceof Uint8Array) return { B: value }
  if (SET in value) return value[SET] as AttributeValue
  if (value instanceof Set) return toSet([...value])
  // A map or list at the last level is refused even if it is empty.
  if (depth + 1 >= MAX_DEPTH) throw new Problem('nesting-too-deep', `Values may be nested ${MAX_DEPTH} levels deep`)
  if (Array.isArray(value)) return { L: value.map(v => toAttribute(v ?? null, depth + 1)) }
  return { M: marshal(value as Item, depth + 1) }
}

function toSet(members: unknown[]): AttributeValue {
  const [first] = members
  if (typeof first === 'string') return { SS: members as string[] }
  if (typeof first === 'number' || typeof first === 'bigint') return { NS: members.map(String) }
  return { BS: members as Uint8Array[] }
}

function decimal(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e126 || (size < 1e-130 && size !== 0) || Number.isNaN(value)) {
    throw new Problem('invalid-request', `The number ${value} is beyond what DynamoDB stores`)
  }
  return String(value)
}

/** On an array that was a set: that set, so that it is compared and written back as what it was. */
const SET = Symbol('set')
const arrayOf = (set: AttributeValue, members: unknown[]) => Object.defineProperty(members, SET, { value: set })

/**
 * DynamoDB's attribute values to what JSON can say: sets become arrays, binary becomes base64, and numbers
 * become doubles, as they are for every JSON reader.
 */
export function unmarshal(attributes: Attributes): Item {
  const out: Item = {}
  for (const name in attributes) setOwn(out, name, fromAttribute(attributes[name] as AttributeValue))
  return out
}

/** Assigns without the magic of `__proto__`, which is a name like any other in an item. */
function setOwn(target: Item, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true })
  } else {
    target[name] = value
  }
}

function fromAttribute(value: AttributeValue): unknown {
  if (value.S !== undefined) return value.S
  if (value.N !== undefined) return Number(value.N)
  if (value.M !== undefined) return unmarshal(value.M)
  if (value.L !== undefined) return value.L.map(fromAttribute)
  if (value.BOOL !== undefined) return value.BOOL
  if (value.SS !== undefined) return arrayOf(value, [...value.SS])
  if (value.NS !== undefined) return arrayOf(value, value.NS.map(Number))
  if (value.B !== undefined) return base64(value.B)
  if (value.BS !== undefined) return arrayOf(value, value.BS.map(base64))
  return null
}

/** An image that came with an error may hold its bytes in base64 already. */
function base64(bytes: Uint8Array | string): string {
  if (typeof bytes === 'string') return bytes
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Refuses, before it is sent, an item that DynamoDB would refuse for its size. */
export function assertItemSize(item: Attributes): void {
  if (mapSize(item) > MAX_ITEM_BYTES) throw new Problem('item-too-large')
}

/** Refuses a key that is longer than a sort key may be, in what is written as in what is asked for. */
export function assertKeySize(key: Attributes, names: readonly string[]): void {
  for (const name of names) {
    const value = key[name]?.S
    if (value !== undefined && value.length * 3 > MAX_KEY_BYTES && Buffer.byteLength(value) > MAX_KEY_BYTES) {
      throw new Problem('invalid-key', `Identifiers may take ${MAX_KEY_BYTES} bytes together`)
    }
  }
}

function mapSize(item: Attributes): number {
  let size = 0
  for (const name in item) size += Buffer.byteLength(name) + valueSize(item[name] as AttributeValue)
  return size
}

/** Sizes as DynamoDB's documentation gives them; numbers are counted as if they had all their digits. */
function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S)
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1
  if (value.B !== undefined) return value.B.length
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + mapSize(value.M)
  if (value.L !== undefined) return 3 + value.L.reduce((size, v) => size + 1 + valueSize(v), 0)
  if (value.SS !== undefined) return value.SS.reduce((size, s) => size + Buffer.byteLength(s), 0)
  if (value.NS !== undefined) return value.NS.reduce((size, n) => size + Math.ceil(n.length / 2) + 1, 0)
  if (value.BS !== undefined) return value.BS.reduce((size, b) => size + b.length, 0)
  return 1
}
