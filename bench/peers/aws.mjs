// Fastify with the plain AWS client.
import {
  BatchGetItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand
} from '@aws-sdk/client-dynamodb'
import { ALIASES, aliasKeys, presentAlias } from '../items.mjs'

export async function open(settings, TableName) {
  const client = new DynamoDBClient(settings)
  const keyOf = name => ({ pk: { S: `PROJECT#${name}` }, sk: { S: 'METADATA' } })
  const get = async name => {
    const { Item } = await client.send(new GetItemCommand({ TableName, Key: keyOf(name) }))
    return { name, repository: Item.repository.S }
  }
  return {
    get,
    async list(name) {
      const query = new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :p AND begins_with(sk, :s)',
        ExpressionAttributeValues: { ':p': { S: `PROJECT#${name}` }, ':s': { S: 'TOKEN#' } },
        Limit: 20
      })
      const [{ Items }] = await Promise.all([client.send(query), get(name)])
      const items = Items.map(i => ({ tokenId: i.sk.S.slice(6), createdAt: i.created_at.S, expiresAt: i.expires_at.S }))
      return { items }
    },
    async resolve() {
      const command = new BatchGetItemCommand({ RequestItems: { [ALIASES]: { Keys: aliasKeys } } })
      const { Responses } = await client.send(command)
      return presentAlias(Responses[ALIASES][0])
    },
    create: ({ name, repository }) =>
      client.send(
        new PutItemCommand({
          TableName,
          Item: { ...keyOf(name), repository: { S: repository } },
          ConditionExpression: 'attribute_not_exists(pk)'
        })
      ),
    transaction({ project, tokenId, createdAt, expiresAt, hashedToken }) {
      const Item = {
        pk: { S: `PROJECT#${project}` },
        sk: { S: `TOKEN#${tokenId}` },
        created_at: { S: createdAt },
        expires_at: { S: expiresAt },
        hashed_token: { S: hashedToken }
      }
      const TransactItems = [
        { ConditionCheck: { TableName, Key: keyOf(project), ConditionExpression: 'attribute_exists(pk)' } },
        { Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(pk)' } }
      ]
      return client.send(new TransactWriteItemsCommand({ TransactItems }))
    }
  }
}
