import { type ItemCase, NOW, NOW_ISO } from './case.js'

const SECONDS = NOW / 1000
const LATER = SECONDS + 3600

/** The document's own examples. */
const state = { pk: 'state#foo', sk: 'state#foo', name: 'foo', value: 'bar' }
const subscription = {
  pk: 'state#foo',
  sk: 'subscription#conn-1234',
  gsi1pk: 'connection#conn-1234',
  gsi1sk: 'status#subscribed#1643245799',
  stateName: 'foo',
  connectionId: 'conn-1234',
  status: 'subscribed',
  subscribedAt: 1643245799
}
const connection = {
  pk: 'connection#conn-1234',
  sk: 'connection#conn-1234',
  gsi1pk: 'user#ann',
  gsi1sk: 'connection#conn-1234',
  connectionId: 'conn-1234',
  userId: 'ann'
}
const user = {
  pk: 'user#ann',
  sk: 'user#ann',
  gsi1pk: 'user#ann@example.com',
  gsi1sk: 'user#ann',
  email: 'ann@example.com',
  userId: 'ann'
}
/** The document's blank `gsi1sk`: such an item is in no index. */
const { gsi1sk: _sk, ...sparse } = { ...user, pk: 'user#bob', sk: 'user#bob', userId: 'bob' }
/** Items whose data stands in their keys alone. */
const nameless = { pk: 'state#bare', sk: 'state#bare', value: { a: [null, false, 0, ''] } }
/** Gone, although DynamoDB has not deleted it yet. */
const expired = { ttl: SECONDS }

const subscriptionAnswer = {
  stateName: 'foo',
  connectionId: 'conn-1234',
  status: 'subscribed',
  subscribedAt: 1643245799
}
const connectionAnswer = { connectionId: 'conn-1234', userId: 'ann' }
const userAnswer = { userId: 'ann', email: 'ann@example.com' }

type Api = { api: { put(url: string, body: unknown): Promise<unknown> } }
const connect = ({ api }: Api) => api.put('/v1/connections/c1', { userId: 'ann' })
const subscribe = async (started: Api) => {
  await connect(started)
  await started.api.put('/v1/states/lobby%2Fscore/subscriptions/c1', {})
}

export const realtimeItems: ItemCase[] = [
  {
    entity: 'State',
    domain: 'realtime',
    table: 'realtime',
    document: [state, nameless, subscription],
    reads: [
      { url: '/v1/states/foo', answer: { name: 'foo', value: 'bar', version: 0 } },
      { url: '/v1/states/bare', answer: { name: 'bare', value: nameless.value, version: 0 } }
    ],
    writes: [
      {
        method: 'PUT',
        url: '/v1/states/lobby%2Fscore',
        body: { value: { home: 2, deep: [[null, false]] }, ttl: LATER },
        key: ['state#lobby/score', 'state#lobby/score'],
        item: {
          pk: 'state#lobby/score',
          sk: 'state#lobby/score',
          name: 'lobby/score',
          value: { home: 2, deep: [[null, false]] },
          version: 1,
          updatedAt: NOW_ISO,
          ttl: LATER
        }
      }
    ],
    update: { method: 'PUT', url: '/v1/states/foo', body: { value: null } }
  },
  {
    entity: 'Subscription',
    domain: 'realtime',
    table: 'realtime',
    document: [
      subscription,
      connection,
      { ...subscription, sk: 'subscription#old', gsi1sk: 'status#unsubscribed#1', status: 'unsubscribed' },
      { ...subscription, sk: 'subscription#gone', connectionId: 'gone', ...expired }
    ],
    reads: [
      { url: '/v1/states/foo/subscriptions', answer: { items: [subscriptionAnswer], cursor: null } },
      { url: '/v1/connections/conn-1234/subscriptions', answer: { items: [subscriptionAnswer], cursor: null } }
    ],
    writes: [
      {
        prepare: connect,
        method: 'PUT',
        url: '/v1/states/lobby%2Fscore/subscriptions/c1',
        body: { ttl: LATER },
        key: ['state#lobby/score', 'subscription#c1'],
        item: {
          pk: 'state#lobby/score',
          sk: 'subscription#c1',
          gsi1pk: 'connection#c1',
          gsi1sk: `status#subscribed#${SECONDS}`,
          stateName: 'lobby/score',
          connectionId: 'c1',
          status: 'subscribed',
          subscribedAt: SECONDS,
          ttl: LATER
        }
      },
      {
        prepare: subscribe,
        method: 'DELETE',
        url: '/v1/states/lobby%2Fscore/subscriptions/c1?reason=bored',
        key: ['state#lobby/score', 'subscription#c1'],
        item: {
          pk: 'state#lobby/score',
          sk: 'subscription#c1',
          gsi1pk: 'connection#c1',
          gsi1sk: `status#unsubscribed#${SECONDS}`,
          stateName: 'lobby/score',
          connectionId: 'c1',
          status: 'unsubscribed',
          subscribedAt: SECONDS,
          unsubscribedAt: SECONDS,
          reason: 'bored'
        }
      }
    ],
    update: { method: 'PUT', url: '/v1/states/foo/subscriptions/conn-1234', body: { ttl: LATER } }
  },
  {
    entity: 'Connection',
    domain: 'realtime',
    table: 'realtime',
    document: [
      connection,
      { ...connection, pk: 'connection#gone', sk: 'connection#gone', gsi1sk: 'connection#gone', ...expired }
    ],
    reads: [
      { url: '/v1/connections/conn-1234', answer: connectionAnswer },
      { url: '/v1/users/ann/connections', answer: { items: [connectionAnswer], cursor: null } }
    ],
    writes: [
      {
        method: 'PUT',
        url: '/v1/connections/c1',
        body: { userId: 'ann', ttl: LATER },
        key: ['connection#c1', 'connection#c1'],
        item: {
          pk: 'connection#c1',
          sk: 'connection#c1',
          gsi1pk: 'user#ann',
          gsi1sk: 'connection#c1',
          connectionId: 'c1',
          userId: 'ann',
          connectedAt: NOW_ISO,
          ttl: LATER
        }
      }
    ],
    update: { method: 'PUT', url: '/v1/connections/conn-1234', body: { userId: 'ann' } }
  },
  {
    entity: 'User',
    domain: 'realtime',
    table: 'realtime',
    document: [user, sparse],
    reads: [
      { url: '/v1/users/ann', answer: userAnswer },
      { url: '/v1/users/bob', answer: { userId: 'bob', email: 'ann@example.com' } },
      { url: '/v1/users?email=ann%40example.com', answer: { items: [userAnswer], cursor: null } }
    ],
    writes: [
      {
        method: 'PUT',
        url: '/v1/users/eve',
        body: { email: 'Eve@example.com', ttl: LATER },
        key: ['user#eve', 'user#eve'],
        item: {
          pk: 'user#eve',
          sk: 'user#eve',
          gsi1pk: 'user#Eve@example.com',
          gsi1sk: 'user#eve',
          email: 'Eve@example.com',
          userId: 'eve',
          ttl: LATER
        }
      }
    ],
    update: { method: 'PUT', url: '/v1/users/ann', body: { email: 'new@example.com' } }
  }
]
