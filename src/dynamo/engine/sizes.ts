import type { Item, Value } from './types.js'

/** DynamoDB's limit for an item, attribute names included. */
export const MAX_ITEM_BYTES = 400 * 1024

/** How many maps and lists may lie one inside the other: what is in the innermost is at DynamoDB's level 32. */
const MAX_NESTING = 31

const bytes = (text: string) => Buffer.byteLength(text, 'utf8')
const sum = <T>(list: T[], size: (part: T) => number) => list.reduce((total, part) => total + size(part), 0)
const binaryBytes = (base64: string) => Buffer.byteLength(base64, 'base64')

function numberBytes(text: string): number {
  const digits = text.replace(/^-|\./g, '').replace(/^0+|0+$/g, '').length
  return 1 + Math.ceil(digits / 2) + (text.startsWith('-') ? 1 : 0)
}

function valueBytes(value: Value): number {
  if (value.S !== undefined) return bytes(value.S)
  if (value.N !== undefined) return numberBytes(value.N)
  if (value.B !== undefined) return binaryBytes(value.B)
  if (value.SS) return sum(value.SS, bytes)
  if (value.NS) return sum(value.NS, numberBytes)
  if (value.BS) return sum(value.BS, binaryBytes)
  if (value.L) return 3 + sum(value.L, part => 1 + valueBytes(part))
  if (value.M) return 3 + Object.keys(value.M).length + itemBytes(value.M)
  return 1
}

/** An item's size as DynamoDB counts it: UTF-8 bytes of names and values. */
export function itemBytes(item: Item): number {
  return sum(Object.entries(item), ([name, value]) => bytes(name) + valueBytes(value))
}

const isContainer = (node: unknown): node is object => typeof node === 'object' && node !== null

/** Whether JSON holds more than `limit` levels of objects and arrays; looks no deeper, hostile depths would fill the stack. */
export function isDeeper(json: unknown, limit: number): boolean {
  if (!isContainer(json)) return false
  return limit === 0 || Object.values(json).some(part => isDeeper(part, limit - 1))
}

/** Whether an item nests deeper than DynamoDB allows. */
export const nestsTooDeep = (item: Item) => Object.values(item).some(value => nestsBeyond(value, MAX_NESTING))

function nestsBeyond({ L, M }: Value, room: number): boolean {
  const parts = L ?? (M && Object.values(M))
  return parts !== undefined && (room === 0 || parts.some(part => nestsBeyond(part, room - 1)))
}

/** DynamoDB's limit for the name of an attribute, also for one inside a map. */
const MAX_NAME_BYTES = 65_535

/** What is wrong with a name somewhere in an item. */
export function wrongName(item: Item): string | undefined {
  for (const [name, value] of Object.entries(item)) {
    if (name === '') return 'Empty attribute name'
    if (bytes(name) > MAX_NAME_BYTES)
      return `Attribute name is too large, must be less than ${MAX_NAME_BYTES + 1} bytes`
    const inside = wrongNameIn(value)
    if (inside) return inside
  }
  return undefined
}

/** The same for a value that is no item itself. */
export function wrongNameIn({ L, M }: Value): string | undefined {
  return M ? wrongName(M) : L?.map(wrongNameIn).find(Boolean)
}
