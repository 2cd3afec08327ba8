import type { DynamoRequest } from '../../src/dynamo/client.js'
import type { Domain, TableId } from '../../src/dynamo/tables.js'
import { start, type Test } from '../../test/helpers.js'
import type { Asked } from '../../test/policed.js'
import { hostingPatterns } from './hosting.js'
import { layerPatterns } from './layers.js'
import type { DomainPatterns } from './pattern.js'
import { projectPatterns } from './projects.js'
import { realtimePatterns } from './realtime.js'
import { tenantPatterns } from './tenants.js'

export const patterns: Record<Domain, DomainPatterns> = {
  hosting: hostingPatterns,
  layers: layerPatterns,
  tenants: tenantPatterns,
  projects: projectPatterns,
  realtime: realtimePatterns
}

export interface Cost {
  name: string
  call: string
  requests: { operation: string; units: number }[]
  read: number
  write: number
}

const READS = /^(GetItem|BatchGetItem|Query|Scan|TransactGetItems)$/

/** What each pattern of a domain consumes, as DynamoDB reports it, and all that was asked on the way. */
export async function measure(
  t: Test,
  domain: Domain,
  place: Record<string, string> = {}
): Promise<{ costs: Cost[]; asked: (Asked & { id: TableId })[] }> {
  const { env, prepare, patterns: list } = patterns[domain]
  const started = await start(t, { domains: [domain], env: { ...place, ...(await env?.(t)) } })
  const found = await prepare(started.api)
  const costs: Cost[] = []
  for (const { name, call, make } of list) {
    const before = started.seen.length
    const response = await make(started.api, found)
    if (response.statusCode >= 300) throw new Error(`${name}: ${response.statusCode} ${response.body}`)
    const seen = started.seen.slice(before)
    costs.push({
      name,
      call,
      requests: seen.map(({ operation, units }) => ({ operation, units })),
      read: units(seen, true),
      write: units(seen, false)
    })
  }
  const ids = new Map(Object.entries(started.config.tables).map(([id, name]) => [name, id as TableId]))
  return { costs, asked: started.asked.map(one => ({ ...one, id: ids.get(one.table) as TableId })) }
}

const units = (seen: DynamoRequest[], isRead: boolean) =>
  seen.filter(({ operation }) => READS.test(operation) === isRead).reduce((sum, request) => sum + request.units, 0)

/** The table of the documentation. */
export function costTable(domain: Domain, costs: Cost[]): string {
  const rows = costs.map(
    ({ name, call, requests, read, write }) =>
      `| ${name} | \`${call}\` | ${summary(requests)} | ${read || ''} | ${write || ''} |`
  )
  return [
    `### ${domain}`,
    '',
    '| access pattern | call | requests | read units | write units |',
    '|---|---|---|---:|---:|',
    ...rows
  ].join('\n')
}

function summary(requests: Cost['requests']): string {
  const counts = new Map<string, number>()
  for (const { operation: name } of requests) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts]
    .sort()
    .map(([name, count]) => (count > 1 ? `${count} ${name}` : name))
    .join(', ')
}
