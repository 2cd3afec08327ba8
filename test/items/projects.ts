import { createHash } from 'node:crypto'
import { type ItemCase, NOW_ISO } from './case.js'

const metadata = { pk: 'PROJECT#myproj', sk: 'METADATA', repository: 'https://github.com/example/myproj' }
const token = {
  pk: 'PROJECT#myproj',
  sk: 'TOKEN#tkn-123',
  created_at: '2023-06-15T12:00:00Z',
  expires_at: '2023-12-15T12:00:00Z',
  hashed_token: '<hashed-token-string>'
}
const properties = { any_field_you_need: 'some value', more_nesting_here: { subfield: 'value' } }
const target = { pk: 'PROJECT#myproj', sk: 'TARGET#mytarget', name: 'mytarget', type: 'aws_account', properties }
const textTarget = { ...target, sk: 'TARGET#textual', name: 'textual', properties: JSON.stringify(properties) }
const { name: _name, ...namelessTarget } = { ...target, sk: 'TARGET#nameless' }

const project = { name: 'myproj', repository: metadata.repository }
const tokenAnswer = {
  tokenId: 'tkn-123',
  createdAt: token.created_at,
  expiresAt: token.expires_at,
  active: false
}
const targetAnswer = { name: 'mytarget', type: 'aws_account', properties }
const targetAnswers = [targetAnswer, { ...targetAnswer, name: 'nameless' }, { ...targetAnswer, name: 'textual' }]

const makeProject = ({ api }: { api: { post(url: string, body: unknown): Promise<unknown> } }) =>
  api.post('/v1/projects', { name: 'other1', repository: 'git@example.com:other.git' })

export const projectItems: ItemCase[] = [
  {
    entity: 'Project',
    domain: 'projects',
    table: 'projects',
    document: [metadata, token, target, textTarget, namelessTarget],
    reads: [
      { url: '/v1/projects/myproj', answer: project },
      { url: '/v1/projects/myproj/overview', answer: { project, tokens: [tokenAnswer], targets: targetAnswers } }
    ],
    writes: [
      {
        method: 'POST',
        url: '/v1/projects',
        body: { name: 'other1', repository: 'ssh://git@example.com/other' },
        key: ['PROJECT#other1', 'METADATA'],
        item: { pk: 'PROJECT#other1', sk: 'METADATA', repository: 'ssh://git@example.com/other' }
      },
      {
        prepare: makeProject,
        method: 'PATCH',
        url: '/v1/projects/other1',
        body: { repository: 'https://example.com/o' },
        key: ['PROJECT#other1', 'METADATA'],
        item: { pk: 'PROJECT#other1', sk: 'METADATA', repository: 'https://example.com/o' }
      }
    ],
    update: { method: 'PATCH', url: '/v1/projects/myproj', body: { repository: 'https://example.com/new' } }
  },
  {
    entity: 'Token',
    domain: 'projects',
    table: 'projects',
    document: [token, metadata],
    reads: [
      { url: '/v1/projects/myproj/tokens/tkn-123', answer: tokenAnswer },
      { url: '/v1/projects/myproj/tokens', answer: { items: [tokenAnswer], cursor: null } }
    ],
    writes: [
      {
        prepare: makeProject,
        method: 'POST',
        url: '/v1/projects/other1/tokens',
        body: { expiresInDays: 1 },
        key: ({ tokenId }) => ['PROJECT#other1', `TOKEN#${tokenId}`],
        item: ({ tokenId, token }) => ({
          pk: 'PROJECT#other1',
          sk: `TOKEN#${tokenId}`,
          created_at: NOW_ISO,
          expires_at: '2026-02-01T12:00:00.000Z',
          hashed_token: createHash('sha256')
            .update(String(token).split('.')[3] as string)
            .digest('hex')
        })
      }
    ],
    update: { method: 'POST', url: '/v1/projects/myproj/tokens/tkn-123/rotate', body: {} }
  },
  {
    entity: 'Target',
    domain: 'projects',
    table: 'projects',
    document: [target, metadata, textTarget, namelessTarget],
    reads: [
      { url: '/v1/projects/myproj/targets/mytarget', answer: targetAnswer },
      { url: '/v1/projects/myproj/targets', answer: { items: targetAnswers, cursor: null } }
    ],
    writes: [
      {
        prepare: makeProject,
        method: 'PUT',
        url: '/v1/projects/other1/targets/production',
        body: { type: 'cluster', properties: { zone: 'a', nested: { list: [1, 'two', null, false] } } },
        key: ['PROJECT#other1', 'TARGET#production'],
        item: {
          pk: 'PROJECT#other1',
          sk: 'TARGET#production',
          name: 'production',
          type: 'cluster',
          properties: { zone: 'a', nested: { list: [1, 'two', null, false] } }
        }
      }
    ],
    update: { method: 'PATCH', url: '/v1/projects/myproj/targets/mytarget', body: { type: 'other' } }
  }
]
