import type { DomainPatterns } from './pattern.js'

const deployment = '/v1/deployments/blue'
const routes = { '/': { file: 'index.html' }, '/docs/[slug]': { function: 'docs' } }
const alias = (hostname: string, more: object = {}) => ({ hostname, target: 'blue', ...more })
const config = { trailingSlash: false, i18n: { locales: ['en', 'de'] } }

/** On 10 deployments, whose routes are some 100 bytes, and 10 aliases of one of them. */
export const hostingPatterns: DomainPatterns = {
  async prepare(api) {
    const named = ['blue', 'green', 'static', 'stacked', 'torn']
    for (const deploymentId of [...named, ...Array.from({ length: 5 }, (_, i) => `d${i}`)]) {
      await api.post('/v1/deployments', { deploymentId })
    }
    for (const name of ['blue', 'green', 'stacked', 'torn']) {
      await api.put(`/v1/deployments/${name}/status`, { status: 'CREATE_IN_PROGRESS', cfStack: `${name}-stack` })
      await api.put(`/v1/deployments/${name}/status`, { status: 'FINISHED', routes })
    }
    await api.put('/v1/deployments/torn/status', { status: 'DESTROY_IN_PROGRESS' })
    for (let i = 0; i < 7; i++) await api.post('/v1/aliases', alias(`site${i}.example.com`))
    await api.post('/v1/aliases', alias('www.example.com', { basePath: '/docs', config }))
    await api.post('/v1/aliases', alias('*.preview.example.com'))
    await api.post('/v1/aliases', alias('moved.example.com', { config }))
    return {}
  },
  patterns: [
    {
      name: 'create a deployment',
      call: 'POST /deployments',
      make: api => api.post('/v1/deployments', { deploymentId: 'new' })
    },
    {
      name: 'list deployments (11), newest first',
      call: 'GET /deployments',
      make: api => api.get('/v1/deployments')
    },
    {
      name: 'get a deployment',
      call: 'GET /deployments/{deploymentId}',
      make: api => api.get(deployment)
    },
    {
      name: 'change its status',
      call: 'PUT …/{deploymentId}/status',
      make: api => api.put('/v1/deployments/new/status', { status: 'CREATE_IN_PROGRESS', cfStack: 'new-stack' })
    },
    {
      name: 'list its aliases (10)',
      call: 'GET …/{deploymentId}/aliases',
      make: api => api.get(`${deployment}/aliases`)
    },
    {
      name: 'get an alias, with its config',
      call: 'GET /aliases/{hostname}',
      make: api => api.get('/v1/aliases/moved.example.com')
    },
    {
      name: 'resolve a URL of one segment',
      call: 'GET /resolve',
      make: api => api.get('/v1/resolve?hostname=www.example.com&path=/docs')
    },
    {
      name: 'resolve a URL of three segments',
      call: 'GET /resolve',
      make: api => api.get('/v1/resolve?hostname=www.example.com&path=/docs/guide/intro')
    },
    {
      name: 'resolve by a wildcard, one segment',
      call: 'GET /resolve',
      make: api => api.get('/v1/resolve?hostname=pr-1.preview.example.com&path=/docs')
    },
    {
      name: 'create an alias',
      call: 'POST /aliases',
      make: api => api.post('/v1/aliases', alias('new.example.com'))
    },
    {
      name: 'create an alias with a config',
      call: 'POST /aliases',
      make: api => api.post('/v1/aliases', alias('other.example.com', { config }))
    },
    {
      name: 'move an alias (`override`) that has a config',
      call: 'POST /aliases',
      make: api => api.post('/v1/aliases', { hostname: 'moved.example.com', target: 'green', override: true })
    },
    {
      name: 'move two aliases at once',
      call: 'POST /aliases:swap',
      make: api =>
        api.post(
          '/v1/aliases:swap',
          ['site0.example.com', 'site1.example.com'].map(hostname => ({ hostname, target: 'green' }))
        )
    },
    {
      name: 'history of an alias',
      call: 'GET /aliases/{hostname}/history',
      make: api => api.get('/v1/aliases/moved.example.com/history')
    },
    {
      name: 'point an alias back',
      call: 'POST /aliases/{hostname}/revert',
      make: api => api.post('/v1/aliases/moved.example.com/revert', {})
    },
    {
      name: 'delete an alias with its config',
      call: 'DELETE /aliases/{hostname}',
      make: api => api.delete('/v1/aliases/other.example.com')
    },
    {
      name: 'delete a deployment without a stack',
      call: 'DELETE /deployments/{deploymentId}',
      make: api => api.delete('/v1/deployments/static')
    },
    {
      name: 'ask for the destruction of one with a stack',
      call: 'DELETE /deployments/{deploymentId}',
      make: api => api.delete('/v1/deployments/stacked')
    },
    {
      name: 'remove a destroyed one',
      call: 'DELETE …/{deploymentId}?force=true',
      make: api => api.delete('/v1/deployments/torn?force=true')
    }
  ]
}
