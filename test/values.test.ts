import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import fc from 'fast-check'
import t from 'tap'
import { mergePatch } from '../src/dynamo/merge.js'
import { type Attributes, type Item, marshal, unmarshal } from '../src/dynamo/values.js'
import { etagOf } from '../src/etag.js'

const json = fc.jsonValue({ maxDepth: 6 })
const objects = fc.dictionary(fc.string(), json, { maxKeys: 8 }) as fc.Arbitrary<Item>
/** Values that only DynamoDB knows. */
const native = fc.oneof(
  fc.uint8Array({ minLength: 1 }),
  fc.uniqueArray(fc.string(), { minLength: 1 }).map(members => new Set(members)),
  fc.uniqueArray(fc.integer(), { minLength: 1 }).map(members => new Set(members)),
  fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n })
)
const asJson = (value: unknown) => JSON.parse(JSON.stringify(value))
/** The official marshaller refuses numbers beyond a double's integers, DynamoDB those with huge exponents. */
const isStorable = (value: unknown): boolean => {
  if (typeof value === 'number')
    return Math.abs(value) <= Number.MAX_SAFE_INTEGER && (value === 0 || Math.abs(value) > 1e-100)
  return typeof value !== 'object' || value === null || Object.values(value).every(isStorable)
}

t.test('JSON goes to DynamoDB and back as the official marshaller has it', async t => {
  fc.assert(
    fc.property(objects.filter(isStorable), item => {
      const ours = marshal(item)
      t.strictSame(asJson(ours), asJson(marshall(item)))
      t.strictSame(asJson(unmarshal(ours)), asJson(item))
      t.strictSame(asJson(unmarshall(ours)), asJson(item))
    }),
    { numRuns: 300, seed: 1 }
  )
})

t.test('values that only DynamoDB knows are written alike, and read as JSON', async t => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), native, { maxKeys: 5 }), item => {
      t.strictSame(marshal(item), marshall(item))
    }),
    { numRuns: 100, seed: 1 }
  )
  const stored: Attributes = {
    binary: { B: Buffer.from('abc') },
    texts: { SS: ['a', 'b'] },
    numbers: { NS: ['1', '2.5'] },
    bytes: { BS: [Buffer.from('x')] },
    huge: { N: '12345678901234567890123' },
    nothing: { NULL: true },
    ['__proto__']: { S: 'a name like any other' }
  }
  const plain = unmarshal(stored)
  t.strictSame(asJson(plain), {
    binary: 'YWJj',
    texts: ['a', 'b'],
    numbers: [1, 2.5],
    bytes: ['eA=='],
    huge: 1.2345678901234568e22,
    nothing: null,
    ...JSON.parse('{"__proto__":"a name like any other"}')
  })
})

t.test('an entity tag depends on content, not on order', async t => {
  fc.assert(
    fc.property(objects, item => {
      const turned = Object.fromEntries(Object.entries(item).reverse())
      t.equal(etagOf(item), etagOf(turned))
      t.not(etagOf(item), etagOf({ ...item, more: 1, evenMore: 2 }))
    }),
    { numRuns: 100, seed: 1 }
  )
})

t.test('a merge patch made of all of an object gives that object', async t => {
  const withoutNulls = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.array(fc.integer())))
  fc.assert(
    fc.property(objects, withoutNulls, (item, patch) => {
      const merged = mergePatch(item, patch) as Item
      for (const name of Object.keys(patch)) t.strictSame(merged[name], patch[name])
      t.strictSame(mergePatch(merged, {}), merged)
    }),
    { numRuns: 100, seed: 1 }
  )
})
