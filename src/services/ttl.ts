import { invalid } from '../problems.js'

/** The clock in the unit of `ttl`: an item is gone once its `ttl` is not above this. */
export const secondsOf = (now: () => number) => Math.floor(now() / 1000)

/** Refuses an item that would be gone as soon as it is there. */
export function assertFuture(ttl: number | undefined, now: () => number): void {
  if (ttl !== undefined && ttl <= secondsOf(now)) throw invalid('body/ttl', 'must lie in the future (epoch seconds)')
}
