import { Entity, Service } from 'electrodb'
import type { Dynamo } from '../dynamo/client.js'
import { exact, key, keyOnly } from '../dynamo/exact.js'

/** Cello's single table: everything of a project in its partition. */
export function projectEntities(client: Dynamo, table: string) {
  const config = { client, table }

  /** PROJECT#<name> / METADATA: the project itself; its name stands only in the key. */
  const project = exact(
    new Entity(
      {
        model: { service: 'projects', entity: 'Project', version: '1' },
        attributes: {
          project: keyOnly('project'),
          repository: { type: 'string', required: true },
          /** Until when (epoch ms) whoever deletes the project may take, and who that is; a mark of any type counts. */
          deleting: { type: 'any' },
          deleter: { type: 'string' }
        },
        indexes: {
          byName: {
            collection: 'overview',
            pk: key('pk', 'PROJECT#${project}'),
            sk: key('sk', 'METADATA')
          }
        }
      } as const,
      config
    )
  )

  /** PROJECT#<name> / TOKEN#<id>: an API token of a project; only the secret's hash is kept. */
  const token = exact(
    new Entity(
      {
        model: { service: 'projects', entity: 'Token', version: '1' },
        attributes: {
          project: keyOnly('project'),
          tokenId: keyOnly('tokenId'),
          createdAt: { type: 'string', required: true, field: 'created_at' },
          expiresAt: { type: 'string', required: true, field: 'expires_at' },
          hashedToken: { type: 'string', field: 'hashed_token' }
        },
        indexes: {
          byProject: {
            collection: 'overview',
            pk: key('pk', 'PROJECT#${project}'),
            sk: key('sk', 'TOKEN#${tokenId}')
          }
        }
      } as const,
      config
    )
  )

  /** PROJECT#<name> / TARGET#<name>: where a project may deploy; `properties` is a map, or JSON text of others. */
  const target = exact(
    new Entity(
      {
        model: { service: 'projects', entity: 'Target', version: '1' },
        attributes: {
          project: keyOnly('project'),
          name: { type: 'string', required: true },
          type: { type: 'string', required: true },
          properties: { type: 'any', required: true }
        },
        indexes: {
          byProject: {
            collection: 'overview',
            pk: key('pk', 'PROJECT#${project}'),
            sk: key('sk', 'TARGET#${name}')
          }
        }
      } as const,
      config
    )
  )

  return new Service({ project, token, target }, config)
}

export type ProjectEntities = ReturnType<typeof projectEntities>

/** The condition under which a project is there for its callers; a bare "not deleting" would hold for a missing one. */
export const IS_LIVE = 'attribute_exists(pk) AND attribute_not_exists(deleting)'

/** The condition under which an item is there. */
export const IS_THERE = 'attribute_exists(pk)'

/** Whether a key of the partition is the project's own, which a deletion leaves for last. */
export const isMetadata = (key: { sk: string }) => key.sk === 'METADATA'

/** What an item of the table is, by its key. */
export function itemKind({ pk, sk }: { pk: string; sk: string }) {
  const [, project] = /^PROJECT#(.*)$/s.exec(pk) ?? []
  if (project === undefined) return { kind: 'other' as const }
  if (isMetadata({ sk })) return { kind: 'project' as const, project }
  const [, type, id = ''] = /^(TOKEN|TARGET)#(.*)$/s.exec(sk) ?? []
  if (type === 'TOKEN') return { kind: 'token' as const, project, tokenId: id }
  return { kind: type === 'TARGET' ? ('target' as const) : ('other' as const) }
}
