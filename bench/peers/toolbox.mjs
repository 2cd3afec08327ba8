// Fastify with dynamodb-toolbox.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import {
  ConditionCheck,
  Entity,
  executeTransactWrite,
  GetItemCommand,
  item,
  PutItemCommand,
  PutTransaction,
  QueryCommand,
  string,
  Table
} from 'dynamodb-toolbox'

export async function open(settings, name) {
  const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient(settings))
  const table = new Table({
    documentClient,
    name,
    partitionKey: { name: 'pk', type: 'string' },
    sortKey: { name: 'sk', type: 'string' },
    entityAttributeSavedAs: '_et'
  })
  const project = new Entity({
    name: 'Project',
    table,
    timestamps: false,
    schema: item({ project: string().key(), repository: string() }),
    computeKey: ({ project }) => ({ pk: `PROJECT#${project}`, sk: 'METADATA' })
  })
  const token = new Entity({
    name: 'Token',
    table,
    timestamps: false,
    schema: item({
      project: string().key(),
      tokenId: string().key(),
      createdAt: string().savedAs('created_at'),
      expiresAt: string().savedAs('expires_at'),
      hashedToken: string().savedAs('hashed_token')
    }),
    computeKey: ({ project, tokenId }) => ({ pk: `PROJECT#${project}`, sk: `TOKEN#${tokenId}` })
  })
  const get = async name => {
    const { Item } = await project.build(GetItemCommand).key({ project: name }).send()
    return { name, repository: Item.repository }
  }
  const absent = { attr: 'project', exists: false }
  return {
    get,
    async list(name) {
      const query = table
        .build(QueryCommand)
        .entities(token)
        .query({ partition: `PROJECT#${name}`, range: { beginsWith: 'TOKEN#' } })
        .options({ limit: 20 })
        .send()
      const [{ Items }] = await Promise.all([query, get(name)])
      return { items: Items }
    },
    create: ({ name, repository }) =>
      project.build(PutItemCommand).item({ project: name, repository }).options({ condition: absent }).send(),
    transaction: made =>
      executeTransactWrite(
        { documentClient },
        project.build(ConditionCheck).key({ project: made.project }).condition({ attr: 'repository', exists: true }),
        token.build(PutTransaction).item(made).options({ condition: absent })
      )
  }
}
