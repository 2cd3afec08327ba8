import type { DynamoRequest } from '../../src/dynamo/client.js'
import type { Domain } from '../../src/dynamo/tables.js'
import { start, type Test } from '../../test/helpers.js'
import type { Asked } from '../../test/policed.js'
import type { DomainPatterns } from './pattern.js'
import { projectPatterns } from './projects.js'

/** The domains whose access patterns are measured. */
export const patterns: Partial<Record<Domain, DomainPatterns>> = { projects: projectPatterns }

export interface Cost {
  name: string
  call: string
  requests: string[]
  read: number
  write: number
}

const READS = /^(GetItem|BatchGetItem|Query|Scan|TransactGetItems)$/

/** What each pattern of a domain consumes, as DynamoDB reports it, and all that was asked on the way. */
export async function measure(t: Test, domain: Domain): Promise<{ costs: Cost[]; asked: Asked[] }> {
  const started = await start(t, { domains: [domain] })
  const { prepare, patterns: list } = patterns[domain] as DomainPatterns
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
      requests: seen.map(request => request.operation),
      read: units(seen, true),
      write: units(seen, false)
    })
  }
  return { costs, asked: started.asked }
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

function summary(requests: string[]): string {
  const counts = new Map<string, number>()
  for (const name of requests) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts]
    .sort()
    .map(([name, count]) => (count > 1 ? `${count} ${name}` : name))
    .join(', ')
}
