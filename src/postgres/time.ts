/** Moments as PostgreSQL prints them and as ISO 8601 has them; a JavaScript date would lose the microseconds. */

const TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\s?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?$/
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/**
 * `2022-02-02 18:01:49.345261+00` as `2022-02-02T18:01:49.345261Z`; a text without an offset is in UTC already.
 * Nothing for what is no moment that ISO 8601 can write with four digits of year.
 */
export function isoOf(text: string): string | undefined {
  const [, day, clock, fraction = '', offset] = TIME.exec(text) ?? []
  const wall = Date.parse(`${day}T${clock}Z`)
  // A day such as 30 February is moved on by some parsers; then it does not come back as it was.
  if (Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(`${day}T${clock}`)) return undefined
  const moment = new Date(wall - 1000 * offsetSeconds(offset))
  if (Number.isNaN(moment.getTime()) || moment.getUTCFullYear() > 9999 || moment.getUTCFullYear() < 0) return undefined
  const digits = fraction && `.${fraction.padEnd(fraction.length > 3 ? 6 : 3, '0')}`
  return `${moment.toISOString().slice(0, 19)}${digits}Z`
}

function offsetSeconds(offset: string | undefined): number {
  if (!offset || offset === 'Z') return 0
  const [hours = 0, minutes = 0, seconds = 0] = (offset.slice(1).match(/\d\d/g) ?? []).map(Number)
  return (offset.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds)
}

/** Whether a stored text is ISO 8601 in UTC and the same moment as the other, to its last digit. */
export function isSameMoment(stored: unknown, wanted: string): boolean {
  if (stored === wanted) return ISO.test(wanted)
  return typeof stored === 'string' && ISO.test(stored) && digitsOf(stored) === digitsOf(wanted)
}

function digitsOf(iso: string): string {
  const [, seconds, fraction = ''] = /^(.{19})(?:\.(\d+))?/.exec(iso) ?? []
  return `${seconds}.${fraction.replace(/0+$/, '')}`
}
