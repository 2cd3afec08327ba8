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
    facets: { byIndex: Record<string, { all: { name: string }[]; pk: string[]; sk: string[] }> }
    indexes: Record<string, { index?: string }>
    schema: { attributes: Record<string, { type: string; required?: boolean }> }
  }
  get(ids: object): Chain
  create(data: object): Chain
  query: Record<string, (ids: object) => Chain>
  parse(response: object): { data: object | null }
}

interface Chain {
  go(options?: object): Promise<{ data: object | null; rejected?: boolean; cursor?: string | null }>
  params(options?: object): object
  where(clause: () => string): Chain
}

/** Keeps the last request, and answers with the item that a test gives. */
const asked: { operation: string; input: object }[] = []
let item: object | undefined
let refused: object | undefined
const dynamo = {
  send: async () => ({}),
  async request(operation: string, input: object) {
    asked.push({ operation, input })
    if (refused) throw Object.assign(new Error(), { name: 'ConditionalCheckFailedException', Item: refused })
    if (operation === 'Query') return item ? { Items: [item], LastEvaluatedKey: item } : { Items: [] }
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
          t.strictSame(input, entity.get(key).params(options), 'with options it is ElectroDB’s own')
          t.strictSame(entity.get(key).params(), entity.get(key).params({}))

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

const values: Record<string, fc.Arbitrary<unknown>> = {
  string: identifier,
  number: fc.nat(),
  boolean: fc.boolean(),
  any: fc.jsonValue()
}
/** Without ElectroDB's marks, which are not sent. */
const unmarked = ({ Item, ...rest }: { Item?: object }) => {
  const { __edb_e__, __edb_v__, ...kept } = { ...Item } as Record<string, unknown>
  return { Item: kept, ...rest }
}
const last = () => asked.pop() as (typeof asked)[number]

for (const [domain, { entities }] of Object.entries(services)) {
  for (const [name, entity] of Object.entries(entities as unknown as Record<string, AnyEntity>)) {
    const { attributes } = entity.model.schema
    const arbitraryOf = (id: string) => values[attributes[id]?.type ?? ''] ?? fc.constant(undefined)

    t.test(`${domain}: a create of ${name} asks and answers what ElectroDB does`, async t => {
      const known = Object.keys(attributes).filter(id => attributes[id]?.type !== 'enum')
      const ids = entity.model.facets.byIndex['']?.all.map(facet => facet.name) ?? []
      const requiredKeys = known.filter(id => ids.includes(id) || attributes[id]?.required)
      const data = fc.record(Object.fromEntries(known.map(id => [id, arbitraryOf(id)])), { requiredKeys })
      await fc.assert(
        fc.asyncProperty(data, async given => {
          const options = { returnOnConditionCheckFailure: 'all_old' }
          let expected: { Item?: object }
          try {
            expected = entity.create(given).params(options)
          } catch (error) {
            await t.rejects(entity.create(given).go(options), { message: (error as Error).message })
            return
          }
          refused = undefined
          item = undefined
          const { data, rejected } = await entity.create(given).go(options)
          t.equal(rejected, false)
          t.strictSame(unmarked(last().input), unmarked(expected))
          t.strictSame(data, entity.parse({ Item: expected.Item }).data)
        }),
        { numRuns: 20 }
      )
    })

    for (const [pattern, { index = '' }] of Object.entries(entity.model.indexes)) {
      t.test(`${domain}: a query of ${name} ${pattern} asks and answers what ElectroDB does`, async t => {
        const facets = entity.model.facets.byIndex[index]
        const some = fc.record(Object.fromEntries((facets?.pk ?? []).map(id => [id, arbitraryOf(id)])))
        await fc.assert(
          fc.asyncProperty(some, fc.integer({ min: 1, max: 100 }), async (ids, limit) => {
            const query = entity.query[pattern] as (ids: object) => Chain
            item = undefined
            t.match(await query(ids).go({ limit, cursor: null }), { data: [], cursor: null })
            const { operation, input } = last()
            t.equal(operation, 'Query')
            t.strictSame(input, { ExclusiveStartKey: undefined, ...query(ids).params({ limit }) })

            item = (entity.get(Object.fromEntries(allIds(entity).map(id => [id, 'x']))).params() as { Key: object }).Key
            const { data, cursor } = await query(ids).go({ limit, cursor: null })
            t.strictSame(data, [entity.parse({ Item: item }).data])
            last()
            await query(ids).go({ limit, cursor })
            t.match(last().input, { ExclusiveStartKey: item })
          }),
          { numRuns: 10 }
        )
      })
    }
  }
}

const allIds = (entity: AnyEntity) => entity.model.facets.byIndex['']?.all.map(facet => facet.name) ?? []

t.test('a create that is refused gives what stands there, and more clauses are heard', async t => {
  const project = services.projects.entities.project as unknown as AnyEntity
  const given = { project: 'abcd', repository: 'x' }
  refused = { pk: { S: 'PROJECT#abcd' }, sk: { S: 'METADATA' }, repository: { S: 'y' } }
  const { rejected, data } = await project.create(given).go({ returnOnConditionCheckFailure: 'all_old' })
  refused = undefined
  t.equal(rejected, true)
  t.strictSame(data, { project: 'abcd', repository: 'y' })
  const where = project.create(given).where(() => 'attribute_not_exists(deleting)')
  t.match(where.params(), { ConditionExpression: /deleting/ })
  await where.go()
  t.match(last().input, { ConditionExpression: /deleting/ })
})

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
