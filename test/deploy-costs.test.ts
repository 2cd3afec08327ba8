import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Cost, costTable, measure } from '../scripts/patterns/measure.js'
import { domains, type TableId, tablesOf } from '../src/dynamo/tables.js'
import { access } from '../src/infra/access.js'
import { isLocal } from './engine-helpers.js'
import { aboutEmbedded } from './outside.js'

/** What the access patterns of each domain consume, and what they ask for. */

/** What only a migration asks for, which `migration-phases.test.ts` shows. */
const MIGRATION: Partial<Record<TableId, string>> = { projects: 'BatchGetItem' }

const documented = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8')

for (const domain of domains) {
  t.test(
    `${domain}: the documented costs are the measured ones, and the policy is no wider`,
    aboutEmbedded,
    async t => {
      const { costs, asked } = await measure(t, domain)
      t.ok(documented.includes(costTable(domain, costs)), 'docs/deploy.md is as npm run costs makes it')
      for (const [id] of tablesOf([domain])) {
        const own = asked.filter(one => one.id === id)
        const used = new Set(own.filter(one => !one.index).map(one => one.action))
        const allowed = access[id].actions.filter(action => action !== MIGRATION[id])
        t.strictSame([...used].sort(), [...allowed].sort(), `${id}: every action that is allowed is used`)
        t.strictSame([...new Set(own.flatMap(one => one.index ?? []))].sort(), [...access[id].indexes].sort())
      }
    }
  )

  if (!isLocal) continue
  t.test(`${domain}: another engine counts the same, but for what docs/engines.md lists`, async t => {
    const here = await measure(t, domain, { EMBEDDED_DATA: 'memory' })
    const { costs } = await measure(t, domain)
    for (const [i, { name, requests }] of costs.entries()) {
      const ours = sorted(here.costs[i]?.requests ?? [])
      const theirs = sorted(requests)
      t.strictSame(
        theirs.map(request => request.operation),
        ours.map(request => request.operation),
        name
      )
      for (const [j, { operation, units }] of theirs.entries()) {
        const isSame = isCountedOtherwise(operation, units) || units === ours[j]?.units
        t.ok(isSame, `${name}: ${operation} takes ${units} there, ${ours[j]?.units} here`)
      }
    }
  })
}

/** Requests that are sent at once come in any order. */
const sorted = (requests: Cost['requests']) =>
  requests.toSorted((a, b) => (a.operation === b.operation ? 0 : a.operation < b.operation ? -1 : 1))

/** DynamoDB Local counts the writes of transactions otherwise, and nothing for what it does not find. */
const isCountedOtherwise = (operation: string, units: number) =>
  operation === 'TransactWriteItems' || operation === 'BatchGetItem' || (operation === 'Query' && units === 0)
