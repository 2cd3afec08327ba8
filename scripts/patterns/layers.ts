import type { DomainPatterns } from './pattern.js'

const REGIONS = ['eu-west-1', 'us-east-1', 'ap-south-1']
const requirementsTxt = 'requests==2.32.3\ncertifi==2024.8.30\nurllib3==2.2.3\n'
const build = (name: string) => ({ package: name, packageVersion: '2.32.3', requirementsTxt })
const layer = (name: string, region = 'eu-west-1') => ({
  ...build(name),
  region,
  arn: `arn:aws:lambda:${region}:123456789012:layer:${name}:1`
})
const own = '/v1/layers/eu-west-1/requests'

/** On a package of 10 versions that is in 3 regions, 9 others of one version, and their builds; rows of some 330 bytes. */
export const layerPatterns: DomainPatterns = {
  async prepare(api) {
    for (let i = 0; i < 10; i++) await api.post('/v1/layers', layer('requests'))
    for (const region of REGIONS.slice(1)) await api.post('/v1/layers', layer('requests', region))
    for (let i = 1; i < 10; i++) {
      await api.post('/v1/layers', layer(`package-${i}`))
      await api.post('/v1/builds', build(`package-${i}`))
    }
    for (let i = 0; i < 2; i++) await api.post('/v1/builds', build('requests'))
    await api.put(`${own}/channels/lts`, { version: 5 })
    return {}
  },
  patterns: [
    {
      name: 'insert the first layer of a package in a region',
      call: 'POST /layers',
      make: api => api.post('/v1/layers', layer('numpy'))
    },
    {
      name: 'insert the next one',
      call: 'POST /layers',
      make: api => api.post('/v1/layers', layer('numpy'))
    },
    {
      name: 'latest ARN in a region for a package',
      call: 'GET /layers/{region}/{package}/latest',
      make: api => api.get(`${own}/latest`)
    },
    {
      name: 'all versions of a package in a region (10)',
      call: 'GET /layers/{region}/{package}',
      make: api => api.get(own)
    },
    {
      name: 'one version',
      call: 'GET …/{package}/{version}',
      make: api => api.get(`${own}/3`)
    },
    {
      name: 'latest package for all regions (3)',
      call: 'GET /packages/{package}/layers',
      make: api => api.get('/v1/packages/requests/layers')
    },
    {
      name: 'all deployed layers in a region (21)',
      call: 'GET /regions/{region}/layers',
      make: api => api.get('/v1/regions/eu-west-1/layers')
    },
    {
      name: 'insert the first build of a package',
      call: 'POST /builds',
      make: api => api.post('/v1/builds', build('numpy'))
    },
    {
      name: 'insert the next one',
      call: 'POST /builds',
      make: api => api.post('/v1/builds', build('numpy'))
    },
    {
      name: 'latest requirements for a package',
      call: 'GET /builds/{package}',
      make: api => api.get('/v1/builds/requests')
    },
    {
      name: 'latest requirements for all packages (11)',
      call: 'GET /builds',
      make: api => api.get('/v1/builds')
    },
    {
      name: 'one build',
      call: 'GET /builds/{package}/{version}',
      make: api => api.get('/v1/builds/requests/1')
    },
    {
      name: 'where is a package behind? (3 regions)',
      call: 'GET /packages/{package}/drift',
      make: api => api.get('/v1/packages/requests/drift')
    },
    {
      name: 'let a channel hold a version',
      call: 'PUT …/{package}/channels/{name}',
      make: api => api.put(`${own}/channels/stable`, { version: 6 })
    },
    {
      name: 'move a channel',
      call: 'PUT …/{package}/channels/{name}',
      make: api => api.put(`${own}/channels/stable`, { version: 7 })
    },
    {
      name: 'get a channel',
      call: 'GET …/{package}/channels/{name}',
      make: api => api.get(`${own}/channels/lts`)
    },
    {
      name: 'list channels (2)',
      call: 'GET …/{package}/channels',
      make: api => api.get(`${own}/channels`)
    },
    {
      name: 'remove a channel',
      call: 'DELETE …/{package}/channels/{name}',
      make: api => api.delete(`${own}/channels/stable`)
    },
    {
      name: 'keep a deprecated version',
      call: 'PATCH …/{package}/{version}',
      make: api => api.patch(`${own}/4`, { expiresAt: null })
    },
    {
      name: 'delete a version',
      call: 'DELETE …/{package}/{version}',
      make: api => api.delete(`${own}/2`)
    },
    {
      name: 'withdraw the latest version',
      call: 'DELETE …/{version}?withdraw=true',
      make: api => api.delete(`${own}/10?withdraw=true`)
    },
    {
      name: 'insert the next one after that',
      call: 'POST /layers',
      make: api => api.post('/v1/layers', layer('requests'))
    }
  ]
}
