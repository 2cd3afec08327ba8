import t from 'tap'
import { tables } from '../src/dynamo/tables.js'
import { start, type Test } from './helpers.js'
import { type ItemCase, NOW } from './items/case.js'
import { hostingItems } from './items/hosting.js'
import { layerItems } from './items/layers.js'
import { projectItems } from './items/projects.js'
import { realtimeItems } from './items/realtime.js'
import { tenantItems } from './items/tenants.js'

/** The documents' items through the API and back, for every entity of every domain. */
const cases: ItemCase[] = [...hostingItems, ...layerItems, ...tenantItems, ...projectItems, ...realtimeItems]

for (const { entity, domain, table, document, reads, writes, update } of cases) {
  const begin = (t: Test) => start(t, { domains: [domain], now: () => NOW })

  t.test(`${entity}: the document's item in, the API's answer out`, async t => {
    const { api, raw } = await begin(t)
    for (const item of document) await raw.put(table, item)
    for (const { url, answer } of reads) {
      const response = await api.get(url)
      t.equal(response.statusCode, 200, url)
      t.strictSame(response.json(), answer, url)
    }
  })

  for (const write of writes) {
    t.test(`${entity}: ${write.method} ${write.url} stores the document's item`, async t => {
      const started = await begin(t)
      await write.prepare?.(started)
      const response = await started.api.call(write.method, write.url, write.body)
      t.ok(response.statusCode < 300, `${response.statusCode} ${response.body}`)
      const answer = response.body ? response.json() : {}
      const [hash, range] = typeof write.key === 'function' ? write.key(answer) : write.key
      const expected = typeof write.item === 'function' ? write.item(answer) : write.item
      t.strictSame(await started.raw.get(table, hash, range), expected)
    })
  }

  if (update) {
    t.test(`${entity}: an update keeps attributes that we do not know`, async t => {
      const { api, raw } = await begin(t)
      const [first, ...others] = document as [Record<string, unknown>, ...Record<string, unknown>[]]
      const strange = { ...first, strange: { kept: new Set(['as', 'it', 'is']) } }
      for (const item of [strange, ...others]) await raw.put(table, item)
      const response = await api.call(update.method, update.url, update.body)
      t.ok(response.statusCode < 300, `${response.statusCode} ${response.body}`)
      const { hash, range } = tables[table]
      const stored = await raw.get(table, String(first[hash]), String(first[range]))
      t.strictSame(stored?.strange, strange.strange)
    })
  }
}
