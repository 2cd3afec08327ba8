import type { Output } from './output.js'

/** What a running server tells of its part in the migration, in its metrics. */
interface State {
  phase: string
  startedAt: number
  pending: number
  writes: Record<string, number>
  comparisons: Record<string, number>
  lastLostAt: number
  lastDifferenceAt: number
  lastFailedAt: number
}

/** Asks the servers whether cut-over is safe: no difference and no lost write since a time, on every one of them. */
export async function status(urls: string[], since: number | undefined, output: Output): Promise<number> {
  let isSafe = true
  for (const url of urls) {
    const state = await stateOf(url)
    const from = since ?? state.startedAt
    const doubts = doubtsOf(state, from)
    output.line(`${url}: ${state.phase}, running since ${iso(state.startedAt)}`)
    output.line(`  shadow writes: ${listed(state.writes)}, pending ${state.pending}`)
    output.line(`  comparisons: ${listed(state.comparisons)}`)
    for (const doubt of doubts) output.line(`  not safe: ${doubt}`)
    if (doubts.length === 0) output.line(`  no difference and no lost write since ${iso(from)}`)
    isSafe &&= doubts.length === 0
  }
  output.line(isSafe ? 'Cut-over is safe' : 'Cut-over is not safe')
  return isSafe ? 0 : 1
}

function doubtsOf(state: State, since: number): string[] {
  const { writes, comparisons } = state
  const doubts: [boolean, string][] = [
    [state.phase !== 'postgres+compare', `the phase is ${state.phase}, which compares nothing`],
    [state.startedAt > since, `it runs only since ${iso(state.startedAt)} and knows nothing of the time before`],
    [(comparisons.same ?? 0) === 0, 'nothing has been compared yet'],
    [state.pending > 0, `${state.pending} shadow writes or comparisons are still to be done`],
    [state.lastFailedAt >= since, `a comparison was not possible at ${iso(state.lastFailedAt)}`],
    [state.lastDifferenceAt >= since, `a difference was found at ${iso(state.lastDifferenceAt)}`],
    [
      state.lastLostAt >= since,
      `a shadow write was lost at ${iso(state.lastLostAt)} (dropped ${writes.dropped ?? 0}, failed ${writes.failed ?? 0})`
    ]
  ]
  return doubts.filter(([isSo]) => isSo).map(([, doubt]) => doubt)
}

async function stateOf(url: string): Promise<State> {
  const answer = await fetch(new URL('/metrics', url), { signal: AbortSignal.timeout(10_000) }).catch(error => {
    throw new Error(`${url} does not answer: ${error.cause?.code ?? error.message}`)
  })
  if (!answer.ok) throw new Error(`${url}/metrics answers ${answer.status}; METRICS must not be off`)
  const metrics = parseMetrics(await answer.text())
  const one = (name: string) => metrics.find(metric => metric.name === `quintet_migration_${name}`)?.value ?? 0
  const by = (name: string) => {
    const some = metrics.filter(metric => metric.name === `quintet_migration_${name}`)
    return Object.fromEntries(some.map(({ labels, value }) => [labels.outcome ?? '', value]))
  }
  const phase = metrics.find(metric => metric.name === 'quintet_migration_phase')?.labels.phase
  if (!phase) throw new Error(`${url} is not in a phase of the migration: its PROJECTS_STORE is dynamodb`)
  return {
    phase,
    startedAt: one('started_timestamp_seconds') * 1000,
    pending: one('pending'),
    writes: by('shadow_writes_total'),
    comparisons: by('comparisons_total'),
    lastLostAt: one('last_lost_write_timestamp_seconds') * 1000,
    lastDifferenceAt: one('last_difference_timestamp_seconds') * 1000,
    lastFailedAt: one('last_failed_comparison_timestamp_seconds') * 1000
  }
}

function parseMetrics(text: string) {
  return Array.from(text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm), ([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries(Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, key, content]) => [key, content])),
    value: Number(value)
  }))
}

const iso = (ms: number) => new Date(ms).toISOString()
const listed = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ') || 'none'
