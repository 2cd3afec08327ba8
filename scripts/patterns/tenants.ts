import { stepFunctionsStandIn } from '../../test/stand-ins/step-functions.js'
import type { DomainPatterns } from './pattern.js'

const stack = (version: string) => ({
  version,
  inboundQueueArn: 'arn:aws:sqs:eu-west-1:123456789012:acme-inbound',
  inboundQueueUrl: 'https://sqs.eu-west-1.amazonaws.com/123456789012/acme-inbound'
})
const tenant = '/v1/tenants/acme'

/** On 20 tenants, one of them outdated; executions are started at a stand-in, and end only when told. */
export const tenantPatterns: DomainPatterns = {
  env: async t => (await stepFunctionsStandIn(t)).env,
  async prepare(api) {
    for (let i = 0; i < 18; i++) await api.put(`/v1/tenants/tenant${i}`, stack('0.1.0'))
    await api.put('/v1/tenants/old', stack('0.0.9'))
    await api.put(tenant, stack('0.1.0'))
    const { execution } = (await api.post(`${tenant}/operations`, { operation: 'UPDATE' })).json()
    return { execution }
  },
  patterns: [
    {
      name: 'get queue: there is one',
      call: 'GET /tenants/{tenantId}/queue',
      make: api => api.get(`${tenant}/queue`)
    },
    {
      name: 'get queue: the first to ask, whose call starts it',
      call: 'GET /tenants/{tenantId}/queue',
      make: api => api.get('/v1/tenants/new/queue')
    },
    {
      name: 'get queue: it is being made',
      call: 'GET /tenants/{tenantId}/queue',
      make: api => api.get('/v1/tenants/new/queue')
    },
    {
      name: 'metadata',
      call: 'GET /tenants/{tenantId}',
      make: api => api.get(tenant)
    },
    {
      name: 'create metadata',
      call: 'PUT /tenants/{tenantId}',
      make: api => api.put('/v1/tenants/new', stack('0.1.0'))
    },
    {
      name: 'update metadata',
      call: 'PUT /tenants/{tenantId}',
      make: api => api.put(tenant, stack('0.1.0'))
    },
    {
      name: 'start an operation',
      call: 'POST …/{tenantId}/operations',
      make: api => api.post(`${tenant}/operations`, { operation: 'DELETE' })
    },
    {
      name: 'record an outcome',
      call: 'PUT …/{tenantId}/audit/{operation}',
      make: (api, { execution }) => api.put(`${tenant}/audit/UPDATE?version=0.1.0`, { status: 'Success', execution })
    },
    {
      name: 'audit trail (2)',
      call: 'GET …/{tenantId}/audit',
      make: api => api.get(`${tenant}/audit`)
    },
    {
      name: 'the whole tenant',
      call: 'GET …/{tenantId}/overview',
      make: api => api.get(`${tenant}/overview`)
    },
    {
      name: 'the fleet: outdated tenants (1 of 21)',
      call: 'GET /tenants?outdated=true',
      make: api => api.get('/v1/tenants?outdated=true')
    },
    {
      name: 'upgrade the fleet (1)',
      call: 'POST /tenants:upgrade',
      make: api => api.post('/v1/tenants:upgrade', { limit: 10 })
    },
    {
      name: 'delete metadata',
      call: 'DELETE /tenants/{tenantId}',
      make: api => api.delete(tenant)
    }
  ]
}
