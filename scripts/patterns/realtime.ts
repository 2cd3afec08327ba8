import type { DomainPatterns } from './pattern.js'

const state = '/v1/states/lobby'
const connection = '/v1/connections/conn-0'
const value = { home: 1, guests: 2, clock: '12:34' }

/** On a state with 10 subscribers, who are the connections of one user, and a connection with 10 subscriptions. */
export const realtimePatterns: DomainPatterns = {
  async prepare(api) {
    await api.put('/v1/users/ann', { email: 'ann@example.com' })
    for (let i = 0; i < 10; i++) {
      await api.put(`/v1/connections/conn-${i}`, { userId: 'ann' })
      await api.put(`${state}/subscriptions/conn-${i}`)
      if (i > 0) await api.put(`/v1/states/room-${i}/subscriptions/conn-0`)
    }
    const { headers } = await api.put(state, { value })
    return { etag: String(headers.etag) }
  },
  patterns: [
    {
      name: 'look up a state',
      call: 'GET /states/{name}',
      make: api => api.get(state)
    },
    {
      name: 'set a new state',
      call: 'PUT /states/{name}',
      make: api => api.put('/v1/states/new', { value })
    },
    {
      name: 'set a state if it is as it was read (`If-Match`)',
      call: 'PUT /states/{name}',
      make: (api, { etag = '' }) => api.put(state, { value }, { 'if-match': etag })
    },
    {
      name: 'delete a state',
      call: 'DELETE /states/{name}',
      make: api => api.delete('/v1/states/new')
    },
    {
      name: 'active subscriptions by state (10)',
      call: 'GET /states/{name}/subscriptions',
      make: api => api.get(`${state}/subscriptions`)
    },
    {
      name: 'get a subscription',
      call: 'GET …/subscriptions/{connectionId}',
      make: api => api.get(`${state}/subscriptions/conn-0`)
    },
    {
      name: 'subscribe',
      call: 'PUT …/subscriptions/{connectionId}',
      make: api => api.put('/v1/states/hall/subscriptions/conn-1')
    },
    {
      name: 'unsubscribe',
      call: 'DELETE …/subscriptions/{connectionId}',
      make: api => api.delete('/v1/states/hall/subscriptions/conn-1')
    },
    {
      name: 'active subscriptions by connection (10)',
      call: 'GET /connections/{connectionId}/subscriptions',
      make: api => api.get(`${connection}/subscriptions`)
    },
    {
      name: 'look up a connection',
      call: 'GET /connections/{connectionId}',
      make: api => api.get(connection)
    },
    {
      name: 'connect',
      call: 'PUT /connections/{connectionId}',
      make: api => api.put('/v1/connections/new', { userId: 'ann' })
    },
    {
      name: 'disconnect, without subscriptions',
      call: 'DELETE /connections/{connectionId}',
      make: api => api.delete('/v1/connections/new')
    },
    {
      name: 'disconnect, with 10 subscriptions',
      call: 'DELETE /connections/{connectionId}',
      make: api => api.delete(connection)
    },
    {
      name: 'connections of a user (9)',
      call: 'GET /users/{userId}/connections',
      make: api => api.get('/v1/users/ann/connections')
    },
    {
      name: 'look up a user',
      call: 'GET /users/{userId}',
      make: api => api.get('/v1/users/ann')
    },
    {
      name: 'look up a user by email',
      call: 'GET /users?email=',
      make: api => api.get('/v1/users?email=ann%40example.com')
    },
    {
      name: 'create a user',
      call: 'PUT /users/{userId}',
      make: api => api.put('/v1/users/bob', { email: 'bob@example.com' })
    },
    {
      name: 'change its email',
      call: 'PUT /users/{userId}',
      make: api => api.put('/v1/users/bob', { email: 'robert@example.com' })
    },
    {
      name: 'delete a user',
      call: 'DELETE /users/{userId}',
      make: api => api.delete('/v1/users/bob')
    }
  ]
}
