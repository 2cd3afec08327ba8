import type { Item } from '../dynamo/values.js'

/** Routes and the like are JSON texts in the table and objects for callers. */

/** The text to store; what is stored as text already stays as it is, and nothing is an empty object. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? {})
}

/** What a stored text says. Other programs may have stored a map, or a text that is no JSON object: that is shown as it is. */
export function fromText(stored: unknown): Item {
  if (isObject(stored)) return stored
  try {
    const parsed = JSON.parse(toText(stored))
    if (isObject(parsed)) return parsed
  } catch {
    // Not JSON: shown as text, below.
  }
  return { text: toText(stored) }
}

const isObject = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value)
