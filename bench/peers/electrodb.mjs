// Fastify with ElectroDB, as its documentation has it.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { Entity, Service } from 'electrodb'

export async function open(settings, table) {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(settings))
  const key = (field, template, composite) => ({ field, template, composite, casing: 'none' })
  const text = { type: 'string', required: true }
  const project = new Entity(
    {
      model: { service: 'bench', entity: 'Project', version: '1' },
      attributes: { project: text, repository: text },
      indexes: {
        primary: { pk: key('pk', 'PROJECT#${project}', ['project']), sk: key('sk', 'METADATA', []) }
      }
    },
    { client, table }
  )
  const token = new Entity(
    {
      model: { service: 'bench', entity: 'Token', version: '1' },
      attributes: {
        project: text,
        tokenId: text,
        createdAt: { ...text, field: 'created_at' },
        expiresAt: { ...text, field: 'expires_at' },
        hashedToken: { ...text, field: 'hashed_token' }
      },
      indexes: {
        primary: {
          pk: key('pk', 'PROJECT#${project}', ['project']),
          sk: key('sk', 'TOKEN#${tokenId}', ['tokenId'])
        }
      }
    },
    { client, table }
  )
  const service = new Service({ project, token }, { client, table })
  const get = async name => {
    const { data } = await project.get({ project: name }).go()
    return { name, repository: data.repository }
  }
  return {
    get,
    async list(name) {
      const [{ data }] = await Promise.all([token.query.primary({ project: name }).go({ limit: 20 }), get(name)])
      return { items: data }
    },
    create: ({ name, repository }) => project.create({ project: name, repository }).go(),
    async transaction(made) {
      const { canceled } = await service.transaction
        .write(({ project, token }) => [
          project
            .check({ project: made.project })
            .where((attr, op) => op.exists(attr.repository))
            .commit(),
          token.create(made).commit()
        ])
        .go()
      if (canceled) throw new Error('cancelled')
    }
  }
}
