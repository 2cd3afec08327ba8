import { createHash } from 'node:crypto'
import { BatchWriteItemCommand, CreateTableCommand, paginateQuery, paginateScan } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { pairs, start } from './engine-helpers.js'

const TableName = 'pairs'

/** Of many keys, those whose index rows dynalite would have overwrite each other: their hashes begin with the same 24 bits. */
function colliding(): string[] {
  const byHash = new Map<string, string[]>()
  for (let i = 0; i < 20_000; i++) {
    const hash = createHash('md5').update(`Outlierskey ${i}s`).digest('hex').slice(0, 6)
    byHash.set(hash, [...(byHash.get(hash) ?? []), `key ${i}`])
  }
  return [...byHash.values()].filter(group => group.length > 1).flat()
}

t.test('no two items share a place in an index, and pages hold each of them once', async t => {
  const { client } = await start(t)
  await client.send(new CreateTableCommand(pairs()))
  const names = colliding()
  t.ok(names.length > 10, `${names.length} keys that collide`)
  const same = { gsi1pk: { S: 'same' }, gsi1sk: { S: 'same' } }
  for (let i = 0; i < names.length; i += 25) {
    const puts = names
      .slice(i, i + 25)
      .map(pk => ({ PutRequest: { Item: { pk: { S: pk }, sk: { S: 's' }, ...same } } }))
    await client.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: puts } }))
  }
  const query = {
    TableName,
    IndexName: 'gsi1',
    KeyConditionExpression: 'gsi1pk = :same AND gsi1sk = :same',
    ExpressionAttributeValues: { ':same': { S: 'same' } }
  }
  for (const pageSize of [7, 1000]) {
    const ways = {
      forward: paginateQuery({ client, pageSize }, { ...query }),
      backward: paginateQuery({ client, pageSize }, { ...query, ScanIndexForward: false }),
      scan: paginateScan({ client, pageSize }, { TableName, IndexName: 'gsi1' }),
      'table scan': paginateScan({ client, pageSize }, { TableName })
    }
    for (const [way, pages] of Object.entries(ways)) {
      const seen: (string | undefined)[] = []
      for await (const { Items } of pages) seen.push(...(Items?.map(item => item.pk?.S) ?? []))
      t.strictSame(seen.sort(), names.sort(), `${way}, ${pageSize} a page`)
    }
  }
  const bySegment: (string | undefined)[] = []
  for (let Segment = 0; Segment < 3; Segment++) {
    const pages = paginateScan({ client, pageSize: 7 }, { TableName, IndexName: 'gsi1', Segment, TotalSegments: 3 })
    for await (const { Items } of pages) bySegment.push(...(Items?.map(item => item.pk?.S) ?? []))
  }
  t.strictSame(bySegment.sort(), names.sort(), 'by segments')
})
