import type { DomainPatterns } from './pattern.js'

const project = '/v1/projects/example'
const repository = 'https://github.com/example/example'
const properties = {
  credential_type: 'assumed_role',
  role_arn: 'arn:aws:iam::123456789012:role/deploy',
  policy_arns: [],
  policy_document: '{"Statement":[]}'
}
const target = { type: 'aws_account', properties }

/** On a project with 10 tokens and 10 targets of some 200 bytes each. */
export const projectPatterns: DomainPatterns = {
  async prepare(api) {
    await api.post('/v1/projects', { name: 'example', repository })
    for (let i = 0; i < 10; i++) await api.put(`${project}/targets/target${i}`, target)
    const tokens = []
    for (let i = 0; i < 10; i++) tokens.push((await api.post(`${project}/tokens`, {})).json())
    return { token: tokens[0].token, rotated: tokens[1].tokenId, deleted: tokens[2].tokenId }
  },
  patterns: [
    {
      name: 'get a project',
      call: 'GET /projects/{name}',
      make: api => api.get(project)
    },
    {
      name: 'project with everything (10 tokens, 10 targets)',
      call: 'GET /projects/{name}/overview',
      make: api => api.get(`${project}/overview`)
    },
    {
      name: 'list tokens (10)',
      call: 'GET /projects/{name}/tokens',
      make: api => api.get(`${project}/tokens`)
    },
    {
      name: 'get a token',
      call: 'GET …/tokens/{tokenId}',
      make: (api, { rotated }) => api.get(`${project}/tokens/${rotated}`)
    },
    {
      name: 'authenticate',
      call: 'POST …/tokens/introspect',
      make: (api, { token }) => api.post(`${project}/tokens/introspect`, { token })
    },
    {
      name: 'list targets (10)',
      call: 'GET /projects/{name}/targets',
      make: api => api.get(`${project}/targets`)
    },
    {
      name: 'get a target',
      call: 'GET …/targets/{target}',
      make: api => api.get(`${project}/targets/target1`)
    },
    {
      name: 'create a project',
      call: 'POST /projects',
      make: api => api.post('/v1/projects', { name: 'another', repository })
    },
    {
      name: 'change its repository',
      call: 'PATCH /projects/{name}',
      make: api => api.patch(project, { repository: `${repository}.git` })
    },
    {
      name: 'create a token',
      call: 'POST …/tokens',
      make: api => api.post(`${project}/tokens`, {})
    },
    {
      name: 'rotate a token',
      call: 'POST …/tokens/{tokenId}/rotate',
      make: (api, { rotated }) => api.post(`${project}/tokens/${rotated}/rotate`, {})
    },
    {
      name: 'delete a token',
      call: 'DELETE …/tokens/{tokenId}',
      make: (api, { deleted }) => api.delete(`${project}/tokens/${deleted}`)
    },
    {
      name: 'add a target',
      call: 'PUT …/targets/{target}',
      make: api => api.put(`${project}/targets/added`, target)
    },
    {
      name: 'replace a target',
      call: 'PUT …/targets/{target}',
      make: api => api.put(`${project}/targets/target1`, target)
    },
    {
      name: 'change a target',
      call: 'PATCH …/targets/{target}',
      make: api => api.patch(`${project}/targets/target1`, { properties: { policy_document: '{}' } })
    },
    {
      name: 'delete a target',
      call: 'DELETE …/targets/{target}',
      make: api => api.delete(`${project}/targets/target2`)
    },
    {
      name: 'delete a project (with 21 children)',
      call: 'DELETE /projects/{name}',
      make: api => api.delete(project)
    }
  ]
}
