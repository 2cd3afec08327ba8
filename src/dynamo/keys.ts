import type { Item } from './values.js'

/** Keys as the documents write them: `TOKEN#${tokenId}`. */

/** A value that becomes part of a key: no `#`, no control characters, no half of a surrogate pair. */
export const IDENTIFIER = '^[^#\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]+$'

/** One key of a table, between the ids and the text that holds them. */
export interface KeyReader {
  field: string
  /** The ids that stand in the key, in their order. */
  names: readonly string[]
  /** The ids of a key, or nothing if it is another entity's. */
  read(key: unknown): readonly string[] | undefined
  /** The key of some ids, if there are all of them. */
  write(ids: Item): string | undefined
}

const NONE: readonly string[] = []
const ID = /\$\{(\w+)\}/g

/** The ids that a template names. */
export const namesIn = (template: string): string[] => [...template.matchAll(ID)].map(match => match[1] as string)

export function keyReader(field: string, template: string): KeyReader {
  const names = namesIn(template)
  return { field, names, read: reading(template, names.length), write: writing(template, names) }
}

function reading(template: string, count: number): KeyReader['read'] {
  const prefix = template.slice(0, template.indexOf('${'))
  if (count === 0) return key => (key === template ? NONE : undefined)
  if (count === 1 && template.endsWith('}')) {
    return key =>
      typeof key === 'string' && key.length > prefix.length && key.startsWith(prefix)
        ? [key.slice(prefix.length)]
        : undefined
  }
  const pattern = keyPattern(template, count)
  return key => (typeof key === 'string' ? pattern.exec(key)?.slice(1) : undefined)
}

/**
 * Identifiers hold no `#`, except for the last part of a key, which may be a tail such as `UPDATE#0.1.18`. What parts
 * two of them is not in the first: `us-east-1.zope.interface` is a region and a package.
 */
function keyPattern(template: string, count: number): RegExp {
  let seen = 0
  const source = template.replace(/\$\{\w+\}|[^$]+/g, part => {
    if (!part.startsWith('${')) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    seen += 1
    return seen === count ? '(.+)' : '([^#]+?)'
  })
  return new RegExp(`^${source}$`, 's')
}

function writing(template: string, names: string[]): KeyReader['write'] {
  const literals = template.split(/\$\{\w+\}/)
  return ids => {
    let key = literals[0] as string
    for (let i = 0; i < names.length; i++) {
      const id = ids[names[i] as string]
      if (typeof id !== 'string' && typeof id !== 'number') return undefined
      key += `${id}${literals[i + 1]}`
    }
    return key
  }
}
