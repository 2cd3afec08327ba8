import { IDENTIFIER } from '../dynamo/keys.js'

const VALID = new RegExp(IDENTIFIER, 'u')
/** What fits a key of DynamoDB beside its prefix. */
const MAX_BYTES = 1000

/** Why a name cannot be part of a key, if it cannot. */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'is not a text'
  if (name === '') return 'is empty'
  if (Buffer.byteLength(name) > MAX_BYTES) return `is longer than ${MAX_BYTES} bytes`
  if (name.includes('#')) return 'holds a #, which separates the parts of a key'
  return VALID.test(name) ? undefined : 'holds a control character'
}

/** A name for a message: on one line and of a bearable length. */
export function quoted(value: unknown): string {
  const text = textOf(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** Nesting that could be read may still be too deep to be written. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'nothing'
  } catch {
    return '(too deep to be shown)'
  }
}
