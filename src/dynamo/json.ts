import type { Attributes } from './values.js'

/** DynamoDB's JSON: attribute values as they are, but binary as base64. */

type Json = Record<string, unknown>

/** A request's body. */
export function encode(input: Json): string {
  return JSON.stringify(holdsBytes(input) ? withBase64(input) : input)
}

function holdsBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof Uint8Array) return true
  for (const name in value) if (holdsBytes((value as Json)[name])) return true
  return false
}

function withBase64(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  }
  if (Array.isArray(value)) return value.map(withBase64)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withBase64(member)]))
}

const MAY_HOLD_BINARY = /"BS?"\s*:/

/** An answer's body, with bytes where DynamoDB has binary. */
export function decode(body: string): Json {
  const output = JSON.parse(body) as Json
  if (MAY_HOLD_BINARY.test(body)) forEachItem(output, withBytes)
  return output
}

/** Calls `action` with every item and key of an answer, wherever its operation puts them. */
function forEachItem(output: Json, action: (item: Attributes) => void): void {
  const { Item, Attributes: changed, LastEvaluatedKey, Items = [], Responses = [] } = output
  for (const one of [Item, changed, LastEvaluatedKey, ...(Items as unknown[])]) if (one) action(one as Attributes)
  const answers = Array.isArray(Responses)
    ? Responses.map(({ Item }: { Item?: Attributes }) => Item)
    : Object.values(Responses as Record<string, Attributes[]>).flat()
  const keys = Object.values((output.UnprocessedKeys ?? {}) as Record<string, { Keys: Attributes[] }>).flatMap(
    ({ Keys }) => Keys
  )
  const writes = Object.values((output.UnprocessedItems ?? {}) as Record<string, Record<string, Json>[]>)
    .flat()
    .flatMap(write => Object.values(write))
    .map(({ Item, Key }) => (Item ?? Key) as Attributes)
  for (const one of [...answers, ...keys, ...writes]) if (one) action(one)
}

/** JSON has text where the official client gives bytes. */
type AsSent = { B?: unknown; BS?: unknown; L?: AsSent[]; M?: Record<string, AsSent> }

function withBytes(item: Attributes): void {
  for (const name in item) toBytes(item[name] as AsSent)
}

function toBytes(value: AsSent): void {
  if (typeof value.B === 'string') value.B = bytesOf(value.B)
  else if (value.BS) value.BS = (value.BS as string[]).map(bytesOf)
  else if (value.L) value.L.forEach(toBytes)
  else if (value.M) Object.values(value.M).forEach(toBytes)
}

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64'))
