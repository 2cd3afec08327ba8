import type { Cursors } from '../dynamo/cursors.js'

/** What every service gets beside its entities. Time and randomness come in, so that tests can hold them still. */
export interface ServiceContext {
  cursors: Cursors
  /** Milliseconds since the epoch. */
  now: () => number
  randomBytes: (size: number) => Buffer
}

/** What a caller demands of the present state of a resource before it is written. */
export interface Preconditions {
  ifMatch?: string
  ifNoneMatch?: string
}
