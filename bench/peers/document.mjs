// Fastify with the document client.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand
} from '@aws-sdk/lib-dynamodb'

export async function open(settings, TableName) {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(settings))
  const keyOf = name => ({ pk: `PROJECT#${name}`, sk: 'METADATA' })
  const get = async name => {
    const { Item } = await client.send(new GetCommand({ TableName, Key: keyOf(name) }))
    return { name, repository: Item.repository }
  }
  return {
    get,
    async list(name) {
      const query = new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :p AND begins_with(sk, :s)',
        ExpressionAttributeValues: { ':p': `PROJECT#${name}`, ':s': 'TOKEN#' },
        Limit: 20
      })
      const [{ Items }] = await Promise.all([client.send(query), get(name)])
      const items = Items.map(i => ({ tokenId: i.sk.slice(6), createdAt: i.created_at, expiresAt: i.expires_at }))
      return { items }
    },
    create: ({ name, repository }) =>
      client.send(
        new PutCommand({
          TableName,
          Item: { ...keyOf(name), repository },
          ConditionExpression: 'attribute_not_exists(pk)'
        })
      ),
    transaction({ project, tokenId, createdAt, expiresAt, hashedToken }) {
      const Item = {
        pk: `PROJECT#${project}`,
        sk: `TOKEN#${tokenId}`,
        created_at: createdAt,
        expires_at: expiresAt,
        hashed_token: hashedToken
      }
      const TransactItems = [
        { ConditionCheck: { TableName, Key: keyOf(project), ConditionExpression: 'attribute_exists(pk)' } },
        { Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(pk)' } }
      ]
      return client.send(new TransactWriteCommand({ TransactItems }))
    }
  }
}
