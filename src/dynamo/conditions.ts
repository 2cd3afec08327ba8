import { strangeType } from './declared.js'
import type { Item } from './values.js'

/** ElectroDB's parts of a `where`: a reference for each attribute, and the operations on them. */
interface Operations {
  // biome-ignore lint/suspicious/noExplicitAny: ElectroDB's references are opaque, and typed anew for each entity
  eq(attribute: any, value: any): string
  // biome-ignore lint/suspicious/noExplicitAny: as above
  notExists(attribute: any): string
  // biome-ignore lint/suspicious/noExplicitAny: as above
  type(attribute: any, type: any): string
}

/** The condition that the named attributes are still what they were when the item was read. */
export function unchanged(names: readonly string[], item: Item) {
  return (attributes: object, { eq, notExists, type }: Operations) =>
    names
      .map(name => {
        const reference = (attributes as Item)[name]
        const strange = strangeType(item, name)
        if (strange) return `NOT ${type(reference, strange)}`
        if (item[name] === undefined) return notExists(reference)
        // Blank also stands for a required attribute that is not there.
        const isSame = eq(reference, item[name])
        return item[name] === '' ? `(${notExists(reference)} OR ${isSame})` : isSame
      })
      .join(' AND ')
}
