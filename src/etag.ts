import { createHash, hash } from 'node:crypto'
import { Problem } from './problems.js'

/** The entity tag of a representation: equal content gives an equal tag, whatever order its members came in. */
export function etagOf(representation: unknown): string {
  return tagOf(hash('sha256', canonical(representation), 'base64url'))
}

const tagOf = (digest: string) => `"${digest.slice(0, 27)}"`

/** The same tag of a representation whose canonical form comes in pieces. */
export function gatherEtag() {
  const sum = createHash('sha256')
  return { add: (piece: string) => void sum.update(piece), tag: () => tagOf(sum.digest('base64url')) }
}

/** The form of a representation that its tag is made of: objects as lists of their members in the order of names. */
export function canonical(value: unknown): string {
  return JSON.stringify(ordered(value))
}

function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ordered)
  const members: [string, unknown][] = []
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name]
    if (member !== undefined) members.push([name, ordered(member)])
  }
  return members
}

/** Whether an If-None-Match header names the tag; weak comparison, as RFC 9110 has it for reads. */
export function matchesWeakly(header: string, tag: string): boolean {
  return header.trim() === '*' || tagsOf(header).some(other => other.replace(/^W\//, '') === tag)
}

/** Refuses a write whose If-Match header does not name what is there; `undefined` stands for nothing there. */
export function assertMatch(header: string, representation: unknown): void {
  const matches =
    representation !== undefined && (header.trim() === '*' || tagsOf(header).includes(etagOf(representation)))
  if (!matches) throw new Problem('precondition-failed')
}

/** The entity tags that a header lists. */
export function tagsOf(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? []
}
