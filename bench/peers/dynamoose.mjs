// Express with dynamoose.
import { DynamoDB } from '@aws-sdk/client-dynamodb'
import dynamoose from 'dynamoose'

export const host = 'express'

export async function open(settings, name) {
  dynamoose.aws.ddb.set(new DynamoDB(settings))
  const options = { create: false, waitForActive: false, update: false }
  const schema = new dynamoose.Schema({
    pk: { type: String, hashKey: true },
    sk: { type: String, rangeKey: true },
    repository: String,
    created_at: String,
    expires_at: String,
    hashed_token: String
  })
  const Item = dynamoose.model(name, schema, options)
  new dynamoose.Table(name, [Item], options)
  const keyOf = name => ({ pk: `PROJECT#${name}`, sk: 'METADATA' })
  const get = async name => {
    const { repository } = await Item.get(keyOf(name))
    return { name, repository }
  }
  return {
    get,
    async list(name) {
      const query = Item.query('pk').eq(`PROJECT#${name}`).where('sk').beginsWith('TOKEN#').limit(20).exec()
      const [found] = await Promise.all([query, get(name)])
      const items = found.map(i => ({ tokenId: i.sk.slice(6), createdAt: i.created_at, expiresAt: i.expires_at }))
      return { items }
    },
    create: ({ name, repository }) => Item.create({ ...keyOf(name), repository }),
    transaction: ({ project, tokenId, createdAt, expiresAt, hashedToken }) =>
      dynamoose.transaction([
        Item.transaction.condition(keyOf(project), new dynamoose.Condition('repository').exists()),
        Item.transaction.create({
          pk: `PROJECT#${project}`,
          sk: `TOKEN#${tokenId}`,
          created_at: createdAt,
          expires_at: expiresAt,
          hashed_token: hashedToken
        })
      ])
  }
}
