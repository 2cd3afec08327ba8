import { CreateTableCommand } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { createTable, createTableInput, tableDifferences, tableWarnings } from '../src/dynamo/schema.js'
import { type TableDefinition, tables } from '../src/dynamo/tables.js'
import { start } from './engine-helpers.js'

t.test('a table made from its declaration is as declared', async t => {
  const { client } = await start(t)
  for (const [id, table] of Object.entries(tables) as [string, TableDefinition][]) {
    t.equal(await createTable(client, table.defaultName, table), true, id)
    t.equal(await createTable(client, table.defaultName, table), false, 'the second time it is there')
    t.strictSame(await tableDifferences(client, table.defaultName, table), [])
    t.strictSame(await tableWarnings(client, table.defaultName, table), [])
  }
})

t.test('every difference is said by name', async t => {
  const { client } = await start(t)
  const table: TableDefinition = tables.aliases
  t.strictSame(await tableDifferences(client, 'AliasTable', table), ['table AliasTable does not exist'])
  const make = (name: string, change: Partial<TableDefinition>) =>
    client.send(new CreateTableCommand(createTableInput(name, { ...table, ...change })))

  await make('WrongKey', { range: 'Sort' })
  t.strictSame(await tableDifferences(client, 'WrongKey', table), [
    'table WrongKey has the key HASH PK, RANGE Sort, not HASH PK, RANGE SK'
  ])
  await make('NoIndex', { indexes: [] })
  t.strictSame(await tableDifferences(client, 'NoIndex', table), [
    'index DeploymentIdIndex of table NoIndex does not exist'
  ])
  const [index] = table.indexes as [TableDefinition['indexes'][number]]
  await make('WrongProjection', { indexes: [{ ...index, projection: ['BasePath', 'CreateDate', 'DeploymentId'] }] })
  t.strictSame(await tableDifferences(client, 'WrongProjection', table), [
    'index DeploymentIdIndex of table WrongProjection does not project DeploymentAlias',
    'index DeploymentIdIndex of table WrongProjection does not project HostnameRev'
  ])
  await make('AllProjected', { indexes: [{ ...index, projection: 'ALL' }] })
  t.strictSame(await tableDifferences(client, 'AllProjected', table), [], 'more than declared is no difference')
  await make('WrongIndexKey', { indexes: [{ ...index, range: 'SK' }] })
  t.match(await tableDifferences(client, 'WrongIndexKey', table), [
    /^index DeploymentIdIndex .* has the key HASH GSI1PK, RANGE SK/
  ])

  const input = createTableInput('NumberKey', tables.projects)
  await client.send(
    new CreateTableCommand({
      ...input,
      AttributeDefinitions: input.AttributeDefinitions?.map(a => ({
        ...a,
        AttributeType: a.AttributeName === 'sk' ? 'N' : 'S'
      }))
    })
  )
  t.strictSame(await tableDifferences(client, 'NumberKey', tables.projects), [
    'table NumberKey has sk of type N, not S'
  ])
  await client.send(new CreateTableCommand(createTableInput('NoExpiry', { ...tables.layers, stream: undefined })))
  t.strictSame(await tableWarnings(client, 'NoExpiry', tables.layers), [
    'table NoExpiry does not expire items by exDt',
    'table NoExpiry has no stream of NEW_AND_OLD_IMAGES'
  ])
})
