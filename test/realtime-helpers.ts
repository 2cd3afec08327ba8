import { start, type Test } from './helpers.js'

export const NOW = Date.parse('2026-01-31T12:00:00.500Z')
export const SECONDS = Math.floor(NOW / 1000)

/** An app with the realtime domain, at a time that only the test moves. */
export async function begin(t: Test, env: Record<string, string> = {}) {
  const clock = { now: NOW }
  const started = await start(t, { domains: ['realtime'], now: () => clock.now, env })
  // Expired items stay stored, as they do for days on AWS.
  started.database.engine?.startSweeper(3_600_000)
  return { ...started, clock }
}
