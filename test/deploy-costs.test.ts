import { readFileSync } from 'node:fs'
import t from 'tap'
import { costTable, measure, patterns } from '../scripts/patterns/measure.js'
import { type Domain, tablesOf } from '../src/dynamo/tables.js'
import { access } from '../src/infra/access.js'

/** What the access patterns of each domain consume, and what they ask for. */

/** What only a migration asks for, which `migration-phases.test.ts` shows. */
const MIGRATION: Partial<Record<Domain, string>> = { projects: 'BatchGetItem' }

const documented = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8')

for (const domain of Object.keys(patterns) as Domain[]) {
  t.test(`${domain}: the documented costs are the measured ones, and the policy is no wider than its use`, async t => {
    const { costs, asked } = await measure(t, domain)
    t.ok(documented.includes(costTable(domain, costs)), 'docs/deploy.md is as npm run costs makes it')
    const used = new Set(asked.filter(one => !one.index).map(one => one.action))
    const allowed = tablesOf([domain])
      .flatMap(([id]) => access[id].actions)
      .filter(action => action !== MIGRATION[domain])
    t.strictSame([...used].sort(), [...new Set(allowed)].sort(), 'every action that is allowed is used')
    const queried = new Set(asked.flatMap(one => one.index ?? []))
    t.strictSame(
      [...queried].sort(),
      tablesOf([domain])
        .flatMap(([id]) => access[id].indexes)
        .sort()
    )
  })
}
