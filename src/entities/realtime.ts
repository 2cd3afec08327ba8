import { Entity, Service } from 'electrodb'
import type { Dynamo } from '../dynamo/client.js'
import { exact, key, keyOnly } from '../dynamo/exact.js'
import type { Item } from '../dynamo/values.js'

/** Compose's single table: shared state, who listens to it over which connection, and whose connection that is. */
export function realtimeEntities(client: Dynamo, table: string, now: () => number) {
  const config = { client, table }
  const expiry = { field: 'ttl', now }

  /** state#<name> / state#<name>: a value that is shared. Others may have written it without version and time. */
  const state = exact(
    new Entity(
      {
        model: { service: 'realtime', entity: 'State', version: '1' },
        attributes: {
          name: { type: 'string', required: true },
          value: { type: 'any' },
          version: { type: 'number' },
          updatedAt: { type: 'string' },
          ttl: { type: 'number' }
        },
        indexes: {
          byName: { pk: key('pk', 'state#${name}'), sk: key('sk', 'state#${name}') }
        }
      } as const,
      config
    ),
    expiry
  )

  /** state#<name> / subscription#<connectionId>: a connection that wants to hear of a state. */
  const subscription = exact(
    new Entity(
      {
        model: { service: 'realtime', entity: 'Subscription', version: '1' },
        attributes: {
          stateName: { type: 'string', required: true },
          connectionId: { type: 'string', required: true },
          status: { type: ['subscribed', 'unsubscribed'], required: true },
          /** When the status came to be; beside the key it stands as one of the next two. */
          statusTimestamp: keyOnly('statusTimestamp'),
          subscribedAt: { type: 'number' },
          unsubscribedAt: { type: 'number' },
          reason: { type: 'string' },
          ttl: { type: 'number' }
        },
        indexes: {
          byState: { pk: key('pk', 'state#${stateName}'), sk: key('sk', 'subscription#${connectionId}') },
          byConnection: {
            index: 'gsi1',
            pk: key('gsi1pk', 'connection#${connectionId}'),
            sk: key('gsi1sk', 'status#${status}#${statusTimestamp}')
          }
        }
      } as const,
      config
    ),
    expiry
  )

  /** connection#<id> / connection#<id>: a client that is connected, and its user. */
  const connection = exact(
    new Entity(
      {
        model: { service: 'realtime', entity: 'Connection', version: '1' },
        attributes: {
          connectionId: { type: 'string', required: true },
          userId: { type: 'string', required: true },
          connectedAt: { type: 'string' },
          ttl: { type: 'number' }
        },
        indexes: {
          byId: { pk: key('pk', 'connection#${connectionId}'), sk: key('sk', 'connection#${connectionId}') },
          byUser: {
            index: 'gsi1',
            pk: key('gsi1pk', 'user#${userId}'),
            sk: key('gsi1sk', 'connection#${connectionId}')
          }
        }
      } as const,
      config
    ),
    expiry
  )

  /** user#<id> / user#<id>: a user, found by id or by email. */
  const user = exact(
    new Entity(
      {
        model: { service: 'realtime', entity: 'User', version: '1' },
        attributes: {
          userId: { type: 'string', required: true },
          email: { type: 'string', required: true },
          ttl: { type: 'number' }
        },
        indexes: {
          byId: { pk: key('pk', 'user#${userId}'), sk: key('sk', 'user#${userId}') },
          byEmail: { index: 'gsi1', pk: key('gsi1pk', 'user#${email}'), sk: key('gsi1sk', 'user#${userId}') }
        }
      } as const,
      config
    ),
    expiry
  )

  /**
   * email#<email> / email#<email>: whose the email is. An index does not keep its keys unique, a table does; no
   * identifier reaches these keys, and whoever does not know them is not disturbed.
   */
  const claim = exact(
    new Entity(
      {
        model: { service: 'realtime', entity: 'Claim', version: '1' },
        attributes: {
          email: { type: 'string', required: true },
          userId: { type: 'string', required: true },
          ttl: { type: 'number' }
        },
        indexes: {
          byEmail: { pk: key('pk', 'email#${email}'), sk: key('sk', 'email#${email}') }
        }
      } as const,
      config
    ),
    expiry
  )

  return new Service({ state, subscription, connection, user, claim }, config)
}

export type RealtimeEntities = ReturnType<typeof realtimeEntities>

/** Conditions on an item that is there, or is not, at a moment in epoch seconds: an expired one is not. */
export const lifeAt = (seconds: number) => ({
  names: { '#ttl': 'ttl' },
  values: { ':now': seconds },
  isLive: 'attribute_exists(pk) AND NOT #ttl <= :now',
  isGone: 'attribute_not_exists(pk) OR #ttl <= :now'
})

/** The document looks users up by `gsi1pk` alone, where ElectroDB would add the start of the sort key. */
export function byEmailOnly(params: Item): Item {
  const { '#pk': field } = params.ExpressionAttributeNames as Record<string, string>
  const { ':pk': value } = params.ExpressionAttributeValues as Item
  return {
    ...params,
    KeyConditionExpression: '#pk = :pk',
    ExpressionAttributeNames: { '#pk': field },
    ExpressionAttributeValues: { ':pk': value }
  }
}
