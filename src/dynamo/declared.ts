import type { Item } from './values.js'

/** What a program that we do not know has stored, as the types that an entity declares. */

interface Declared {
  type: string
  field: string
  required?: boolean
}

interface Kind {
  /** DynamoDB's name of the type. */
  letter: string
  /** What a value is for us; nothing, if it is of another type. */
  read(value: unknown): unknown
  /** What stands for a required attribute that is missing, so that whoever lists it need not fail. */
  blank?: unknown
}

const only = (type: string) => (value: unknown) => (typeof value === type ? value : undefined)
const readable = ['number', 'boolean']
const isTexts = (value: unknown) =>
  (Array.isArray(value) || value instanceof Set) && [...value].every(member => typeof member === 'string')

const kinds: Record<string, Kind> = {
  string: {
    letter: 'S',
    read: value => (typeof value === 'string' ? value : readable.includes(typeof value) ? String(value) : undefined),
    blank: ''
  },
  enum: { letter: 'S', read: only('string'), blank: '' },
  number: { letter: 'N', read: only('number'), blank: 0 },
  boolean: { letter: 'BOOL', read: only('boolean') },
  set: { letter: 'SS', read: value => (isTexts(value) ? value : undefined) }
}

/** On data that was read: the attributes whose stored value has not the declared type, with that type. */
const STRANGE = Symbol('strange')
type Strange = { [STRANGE]?: Record<string, string> }

/** The type that a stored attribute was declared to have and has not. */
export const strangeType = (item: object, name: string) => (item as Strange)[STRANGE]?.[name]

/** What a copy of data has to keep of it, so that a condition on its being unchanged can hold. */
export const strangenessOf = (item: object): object => {
  const strange = (item as Strange)[STRANGE]
  return strange ? { [STRANGE]: strange } : {}
}

/** Makes data of an item, ids of its keys included: of what is known of it, and of the item as it is stored. */
type Format<C> = (known: Item, item: Item, config: C) => Item

/** Reads stored items as declared. */
export function reader<C>(attributes: Record<string, Declared>, format: Format<C>) {
  const declared = Object.entries(attributes).flatMap(([name, { type, field, required }]) => {
    const kind = kinds[type]
    return kind ? [{ ...kind, name, field, required }] : []
  })
  const required = declared.filter(one => one.required)

  return (item: Item, config: C): Item => {
    let strange: Record<string, string> | undefined
    let known = item
    for (const { name, field, letter, read } of declared) {
      const value = item[field]
      const understood = read(value)
      if (understood === value) continue
      if (known === item) known = { ...item }
      known[field] = understood
      strange = { ...strange, [name]: letter }
    }
    const data = format(known, item, config)
    for (const { name, blank } of required) data[name] ??= blank
    return strange ? { ...data, [STRANGE]: strange } : data
  }
}
