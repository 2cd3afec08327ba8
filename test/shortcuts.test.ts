import fc from 'fast-check'
import t from 'tap'
import type { Dynamo } from '../src/dynamo/client.js'
import { keyReader } from '../src/dynamo/keys.js'
import { hostingEntities } from '../src/entities/hosting.js'
import { layerEntities } from '../src/entities/layers.js'
import { projectEntities } from '../src/entities/projects.js'
import { realtimeEntities } from '../src/entities/realtime.js'
import { tenantEntities } from '../src/entities/tenants.js'

/** What goes past ElectroDB must be what ElectroDB would have sent and understood. */

interface AnyEntity {
  model: {
    facets: { byIndex: Record<string, { all: { name: string }[] }> }
    schema: { attributes: Record<string, { type: string }> }
  }
  get(ids: object): { go(options?: object): Promise<{ data: object | null }>; params(options?: object): object }
  parse(response: object): { data: object | null }
}

/** Keeps the last request, and answers with the item that a test gives. */
const asked: { operation: string; input: object }[] = []
let item: object | undefined
const dynamo = {
  send: async () => ({}),
  async request(operation: string, input: object) {
    asked.push({ operation, input })
    return item ? { Item: item } : {}
  }
} as unknown as Dynamo
const now = () => Date.parse('2026-01-01')

const services = {
  hosting: hostingEntities(dynamo, { deployments: 'd', aliases: 'a' }),
  layers: layerEntities(dynamo, 'layers', now),
  projects: projectEntities(dynamo, 'cello'),
  realtime: realtimeEntities(dynamo, 'compose', now),
  tenants: tenantEntities(dynamo, 'tenants')
}
const identifier = fc.string({ minLength: 1, unit: 'grapheme' }).filter(text => !/[#.\s]/.test(text))

for (const [domain, { entities }] of Object.entries(services)) {
  for (const [name, entity] of Object.entries(entities as unknown as Record<string, AnyEntity>)) {
    t.test(`${domain}: a get of ${name} asks and understands what ElectroDB does`, async t => {
      const { facets, schema } = entity.model
      const ids = facets.byIndex['']?.all.map(facet => facet.name) ?? []
      const some = fc.record(
        Object.fromEntries(ids.map(id => [id, schema.attributes[id]?.type === 'number' ? fc.nat() : identifier]))
      )
      await fc.assert(
        fc.asyncProperty(some, fc.boolean(), async (key, consistent) => {
          item = undefined
          const options = consistent ? { consistent } : {}
          t.equal((await entity.get(key).go(options)).data, null)
          const { operation, input } = asked.pop() as (typeof asked)[number]
          t.equal(operation, 'GetItem')
          t.strictSame(input, entity.get(key).params(options))

          item = (input as { Key: object }).Key
          const { data } = await entity.get(key).go()
          t.match(data, key, 'ids that stand only in the key are filled in')
          t.strictSame(data, entity.parse({ Item: item }).data)
        }),
        { numRuns: 20 }
      )
    })
  }
}

t.test('a get without all of its ids is refused as ElectroDB refuses it', async t => {
  const { token } = services.projects.entities
  await t.rejects(token.get({ project: 'a' } as never).go(), /Incomplete or invalid key composite attributes/)
})

t.test('a key is read by the template that wrote it, and by no other', t => {
  const layer = keyReader('pk', 'lyr#${rgn}.${pckg}')
  t.equal(layer.write({ rgn: 'eu-west-1', pckg: 'zope.interface' }), 'lyr#eu-west-1.zope.interface')
  t.strictSame(layer.read('lyr#eu-west-1.zope.interface'), ['eu-west-1', 'zope.interface'])
  const audit = keyReader('sk', 'AUDIT#${event}')
  t.strictSame(audit.read('AUDIT#UPDATE#0.1.18'), ['UPDATE#0.1.18'])
  for (const other of ['AUDIT#', 'audit#x', 'METADATA', 7, undefined, null]) t.equal(audit.read(other), undefined)
  const metadata = keyReader('sk', 'METADATA')
  t.strictSame(metadata.read('METADATA'), [])
  t.equal(metadata.read('METADATA2'), undefined)
  t.equal(audit.write({}), undefined)
  t.end()
})
