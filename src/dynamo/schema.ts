import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  type KeySchemaElement,
  type TableDescription,
  UpdateTimeToLiveCommand,
  waitUntilTableExists
} from '@aws-sdk/client-dynamodb'
import { keyNames, type TableDefinition } from './tables.js'

/** Creating the declared tables, and comparing what is there with what is declared. */

const keySchema = (hash: string, range?: string): KeySchemaElement[] => [
  { AttributeName: hash, KeyType: 'HASH' },
  ...(range ? [{ AttributeName: range, KeyType: 'RANGE' as const }] : [])
]

/** The declaration as CreateTable takes it. */
export function createTableInput(name: string, table: TableDefinition): CreateTableCommandInput {
  const indexes = table.indexes.map(index => ({
    IndexName: index.name,
    KeySchema: keySchema(index.hash, index.range),
    Projection:
      index.projection === 'ALL'
        ? { ProjectionType: 'ALL' as const }
        : { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: [...index.projection] }
  }))
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: keyNames(table).map(AttributeName => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: keySchema(table.hash, table.range),
    ...(indexes.length ? { GlobalSecondaryIndexes: indexes } : {}),
    ...(table.stream ? { StreamSpecification: { StreamEnabled: true, StreamViewType: table.stream } } : {})
  }
}

/** Creates a table with its TTL; one that exists is left as it is. Says whether it was created. */
export async function createTable(client: DynamoDBClient, name: string, table: TableDefinition): Promise<boolean> {
  const created = await client.send(new CreateTableCommand(createTableInput(name, table))).then(
    () => true,
    error => {
      if (error.name === 'ResourceInUseException') return false
      throw error
    }
  )
  await waitUntilTableExists({ client, maxWaitTime: 300, minDelay: 1, maxDelay: 5 }, { TableName: name })
  if (table.ttl) await enableExpiry(client, name, table.ttl)
  return created
}

/** The attribute that items expire by, if they do. To serve a table, one need not be allowed to ask. */
async function expiryOf(client: DynamoDBClient, TableName: string): Promise<string | undefined> {
  try {
    const { TimeToLiveDescription: found } = await client.send(new DescribeTimeToLiveCommand({ TableName }))
    return found?.TimeToLiveStatus?.startsWith('ENABL') ? found.AttributeName : undefined
  } catch (error) {
    if ((error as Error).name === 'AccessDeniedException') return 'not allowed'
    throw error
  }
}

async function enableExpiry(client: DynamoDBClient, TableName: string, AttributeName: string): Promise<void> {
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }))
  if (TimeToLiveDescription?.TimeToLiveStatus?.startsWith('ENABL')) return
  const TimeToLiveSpecification = { Enabled: true, AttributeName }
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }))
}

/** What keeps a table from being the declared one, a sentence each; none if it is. */
export async function tableDifferences(
  client: DynamoDBClient,
  name: string,
  table: TableDefinition
): Promise<string[]> {
  let found: TableDescription | undefined
  try {
    found = (await client.send(new DescribeTableCommand({ TableName: name }))).Table
  } catch (error) {
    if ((error as Error).name === 'ResourceNotFoundException') return [`table ${name} does not exist`]
    throw error
  }
  if (!found) return [`table ${name} does not exist`]
  return [
    ...statusDifferences(name, found),
    ...keyDifferences(`table ${name}`, found.KeySchema, table.hash, table.range),
    ...typeDifferences(name, table, found),
    ...table.indexes.flatMap(index => indexDifferences(name, index, found))
  ]
}

/** What differs although every request would still work: TTL and stream. */
export async function tableWarnings(client: DynamoDBClient, name: string, table: TableDefinition): Promise<string[]> {
  const warnings: string[] = []
  if (table.ttl) {
    const expiry = await expiryOf(client, name)
    if (expiry === 'not allowed') {
      warnings.push(`table ${name} may not be asked how items expire: that takes dynamodb:DescribeTimeToLive`)
    } else if (expiry !== table.ttl) warnings.push(`table ${name} does not expire items by ${table.ttl}`)
  }
  if (table.stream) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: name }))
    if (Table?.StreamSpecification?.StreamViewType !== table.stream) {
      warnings.push(`table ${name} has no stream of ${table.stream}`)
    }
  }
  return warnings
}

function statusDifferences(name: string, found: TableDescription): string[] {
  const ready = found.TableStatus === 'ACTIVE' || found.TableStatus === 'UPDATING'
  return ready ? [] : [`table ${name} is ${found.TableStatus}`]
}

function keyDifferences(where: string, found: KeySchemaElement[] = [], hash: string, range?: string): string[] {
  const show = (schema: KeySchemaElement[]) => schema.map(k => `${k.KeyType} ${k.AttributeName}`).join(', ')
  const [is, wanted] = [show(found), show(keySchema(hash, range))]
  return is === wanted ? [] : [`${where} has the key ${is}, not ${wanted}`]
}

function typeDifferences(name: string, table: TableDefinition, found: TableDescription): string[] {
  const types = new Map(found.AttributeDefinitions?.map(a => [a.AttributeName, a.AttributeType]))
  return keyNames(table)
    .filter(attribute => types.has(attribute) && types.get(attribute) !== 'S')
    .map(attribute => `table ${name} has ${attribute} of type ${types.get(attribute)}, not S`)
}

function indexDifferences(name: string, index: TableDefinition['indexes'][number], found: TableDescription): string[] {
  const actual = found.GlobalSecondaryIndexes?.find(other => other.IndexName === index.name)
  const where = `index ${index.name} of table ${name}`
  if (!actual) return [`${where} does not exist`]
  const carries = (attribute: string) =>
    actual.Projection?.ProjectionType === 'ALL' || actual.Projection?.NonKeyAttributes?.includes(attribute)
  const projection =
    index.projection === 'ALL'
      ? actual.Projection?.ProjectionType === 'ALL'
        ? []
        : [`${where} does not project ALL`]
      : index.projection.filter(a => !carries(a)).map(a => `${where} does not project ${a}`)
  return [...keyDifferences(where, actual.KeySchema, index.hash, index.range), ...projection]
}
