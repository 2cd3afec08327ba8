import { helpers, type Parsed, validations } from './dynalite.js'
import { validation } from './errors.js'
import type { Overlay } from './overlay.js'
import type { Item } from './types.js'

type Path = (string | number)[]

interface Section {
  type: 'set' | 'remove' | 'add' | 'delete'
  path: Path
  val?: unknown
}

interface Updates {
  sections: Section[]
}

const sectionsOf = (request: Parsed) => (request._updates as Updates | undefined)?.sections ?? []

/** Makes an update expression mean what DynamoDB means: every part of it speaks of the item as it was before. */
export function settleUpdate(overlay: Overlay, request: Parsed): void {
  const sections = sectionsOf(request)
  if (sections.length === 0) return
  // dynalite removes from lists as it goes, so that later places would have moved.
  sections.sort((a, b) => Number(a.type === 'remove') - Number(b.type === 'remove') || byPlaceFromTheEnd(a, b))
  const copies = sections.filter(section => section.type === 'set' && Array.isArray(section.val))
  if (copies.length === 0 || overlay.invalidKey(request.TableName, request.Key as Item, false)) return
  const old = overlay.item(request.TableName, request.Key as Item) ?? {}
  for (const section of copies) {
    // dynalite would set the attribute itself, not a copy, and change both from then on.
    const value = helpers.mapPath(section.val as Path, old)
    if (value) section.val = structuredClone(value)
  }
}

function byPlaceFromTheEnd(a: Section, b: Section): number {
  if (a.type !== 'remove') return 0
  for (const [i, step] of a.path.entries()) {
    const other = b.path[i]
    if (typeof step === 'number' && typeof other === 'number' && step !== other) return other - step
    if (step !== other) return 0
  }
  return 0
}

/** Refuses numbers that became too large or too long. */
export function checkNumbers(overlay: Overlay, request: Parsed): void {
  const sections = sectionsOf(request)
  if (sections.length === 0) return
  const item = overlay.item(request.TableName, request.Key as Item)
  for (const { path } of sections) {
    const value = item?.[path[0] as string]
    const message = value && validations.validateAttributeValue(value)
    if (message) throw validation(message)
  }
}
