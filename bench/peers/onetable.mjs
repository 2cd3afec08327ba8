// Fastify with dynamodb-onetable.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { Table } from 'dynamodb-onetable'
import { Dynamo } from 'dynamodb-onetable/Dynamo'

export async function open(settings, name) {
  const client = new Dynamo({ client: new DynamoDBClient(settings) })
  const text = { type: String, required: true }
  const table = new Table({
    client,
    name,
    partial: false,
    timestamps: false,
    schema: {
      version: '0.0.1',
      format: 'onetable:1.1.0',
      indexes: { primary: { hash: 'pk', sort: 'sk' } },
      models: {
        Project: {
          pk: { type: String, value: 'PROJECT#${project}' },
          sk: { type: String, value: 'METADATA' },
          project: text,
          repository: text
        },
        Token: {
          pk: { type: String, value: 'PROJECT#${project}' },
          sk: { type: String, value: 'TOKEN#${tokenId}' },
          project: text,
          tokenId: text,
          createdAt: { ...text, map: 'created_at' },
          expiresAt: { ...text, map: 'expires_at' },
          hashedToken: { ...text, map: 'hashed_token' }
        }
      },
      params: { isoDates: true, timestamps: false }
    }
  })
  const Project = table.getModel('Project')
  const Token = table.getModel('Token')
  const get = async name => {
    const { repository } = await Project.get({ project: name })
    return { name, repository }
  }
  return {
    get,
    async list(name) {
      const [items] = await Promise.all([Token.find({ project: name }, { limit: 20 }), get(name)])
      return { items }
    },
    create: ({ name, repository }) => Project.create({ project: name, repository }),
    async transaction(made) {
      const transaction = {}
      await Project.check({ project: made.project }, { exists: true, transaction })
      await Token.create(made, { transaction })
      await table.transact('write', transaction)
    }
  }
}
