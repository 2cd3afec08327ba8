import type { Started } from '../helpers.js'
import { type ItemCase, NOW_ISO } from './case.js'

const early = '2023-06-15T12:00:00.000Z'
const routes = { '/': { file: 'index.html' } }
const texts = { Routes: JSON.stringify(routes), LambdaRoutes: '{"/api":"fn"}', Prerenders: '{}' }
const objects = { routes, lambdaRoutes: { '/api': 'fn' }, prerenders: {} }

const deployment = {
  PK: 'DEPLOYMENTS',
  SK: 'D#dep-1',
  GSI1SK: `${early}#D#dep-1`,
  DeploymentId: 'dep-1',
  CreateDate: early,
  Status: 'FINISHED',
  ItemVersion: 1,
  DeploymentTemplate: 'FUNCTION_URLS',
  DeploymentAlias: 'dep-1.example.com',
  CFStack: 'stack-1',
  ...texts
}
const bare = {
  PK: 'DEPLOYMENTS',
  SK: 'D#dep-0',
  GSI1SK: '2022-01-01T00:00:00.000Z#D#dep-0',
  CreateDate: '2022-01-01T00:00:00.000Z',
  DeploymentId: 'dep-0',
  Status: 'INITIALIZED',
  Routes: 'not JSON',
  LambdaRoutes: '[1]',
  Prerenders: 'null'
}
const route = {
  PK: 'ROUTES',
  SK: 'com.example.docs#/v1',
  GSI1PK: 'D#dep-1',
  GSI1SK: `${early}#R#com.example.docs#/v1`,
  HostnameRev: 'com.example.docs',
  BasePath: '/v1',
  DeploymentId: 'dep-1',
  CreateDate: early,
  DeploymentAlias: false,
  ItemVersion: 1,
  ...texts
}
const {
  HostnameRev: _host,
  BasePath: _path,
  ...nameless
} = {
  ...route,
  SK: 'com.example.docs#/v2/x',
  GSI1PK: 'D#dep-2',
  Routes: '{broken'
}
const config = {
  PK: 'CONFIGNEXTJS',
  SK: 'com.example.docs#/v1',
  GSI1PK: 'D#dep-1',
  GSI1SK: `${early}#CN#com.example.docs#/v1`,
  HostnameRev: 'com.example.docs',
  BasePath: '/v1',
  DeploymentId: 'dep-1',
  CreateDate: early,
  Config: { trailingSlash: false, i18n: { locales: ['en', 'de'] } }
}

const summary = {
  deploymentId: 'dep-1',
  createDate: early,
  status: 'FINISHED',
  deploymentAlias: 'dep-1.example.com'
}
const deploymentAnswer = { ...summary, deploymentTemplate: 'FUNCTION_URLS', cfStack: 'stack-1', ...objects }
const bareAnswer = { deploymentId: 'dep-0', createDate: bare.CreateDate, status: 'INITIALIZED' }
const pointer = {
  hostname: 'docs.example.com',
  basePath: '/v1',
  deploymentId: 'dep-1',
  createDate: early,
  deploymentAlias: false
}
const alias = { ...pointer, ...objects }

async function makeDeployment({ api }: Started) {
  await api.post('/v1/deployments', { deploymentId: 'new' })
  await api.put('/v1/deployments/new/status', { status: 'FINISHED', ...objects })
}
const newAlias = { hostname: 'WWW.Example.com', basePath: '/docs', target: 'new', config: { a: [1, { b: null }] } }

export const hostingItems: ItemCase[] = [
  {
    entity: 'Deployment',
    domain: 'hosting',
    table: 'deployments',
    document: [deployment, bare],
    reads: [
      { url: '/v1/deployments/dep-1', answer: deploymentAnswer },
      {
        url: '/v1/deployments/dep-0',
        answer: {
          ...bareAnswer,
          routes: { text: 'not JSON' },
          lambdaRoutes: { text: '[1]' },
          prerenders: { text: 'null' }
        }
      },
      { url: '/v1/deployments', answer: { items: [summary, bareAnswer], cursor: null } },
      { url: '/v1/deployments?status=INITIALIZED', answer: { items: [bareAnswer], cursor: null } }
    ],
    writes: [
      {
        method: 'POST',
        url: '/v1/deployments',
        body: { deploymentId: 'new', deploymentTemplate: 'API_GATEWAY' },
        key: ['DEPLOYMENTS', 'D#new'],
        item: {
          PK: 'DEPLOYMENTS',
          SK: 'D#new',
          GSI1SK: `${NOW_ISO}#D#new`,
          DeploymentId: 'new',
          CreateDate: NOW_ISO,
          Status: 'INITIALIZED',
          ItemVersion: 1,
          DeploymentTemplate: 'API_GATEWAY'
        }
      },
      {
        prepare: ({ api }) => api.post('/v1/deployments', { deploymentId: 'new' }),
        method: 'PUT',
        url: '/v1/deployments/new/status',
        body: { status: 'FINISHED', cfStack: 'stack-1', deploymentAlias: 'new.example.com', ...objects },
        key: ['DEPLOYMENTS', 'D#new'],
        item: {
          PK: 'DEPLOYMENTS',
          SK: 'D#new',
          GSI1SK: `${NOW_ISO}#D#new`,
          DeploymentId: 'new',
          CreateDate: NOW_ISO,
          Status: 'FINISHED',
          ItemVersion: 1,
          DeploymentTemplate: 'FUNCTION_URLS',
          DeploymentAlias: 'new.example.com',
          CFStack: 'stack-1',
          ...texts
        }
      }
    ],
    update: { method: 'PUT', url: '/v1/deployments/dep-1/status', body: { status: 'DESTROY_REQUESTED' } }
  },
  {
    entity: 'Route',
    domain: 'hosting',
    table: 'aliases',
    document: [route, nameless],
    reads: [
      { url: '/v1/aliases/docs.example.com?basePath=/v1', answer: alias },
      { url: '/v1/resolve?hostname=docs.example.com&path=/v1/x', answer: alias },
      {
        url: '/v1/resolve?hostname=docs.example.com&path=/v2/x',
        answer: { ...alias, basePath: '/v2/x', routes: { text: '{broken' } }
      }
    ],
    writes: [
      {
        prepare: makeDeployment,
        method: 'POST',
        url: '/v1/aliases',
        body: newAlias,
        key: ['ROUTES', 'com.example.www#/docs'],
        item: {
          PK: 'ROUTES',
          SK: 'com.example.www#/docs',
          GSI1PK: 'D#new',
          GSI1SK: `${NOW_ISO}#R#com.example.www#/docs`,
          HostnameRev: 'com.example.www',
          BasePath: '/docs',
          DeploymentId: 'new',
          CreateDate: NOW_ISO,
          DeploymentAlias: false,
          ItemVersion: 1,
          ...texts
        }
      }
    ]
  },
  {
    entity: 'ConfigNextJS',
    domain: 'hosting',
    table: 'aliases',
    document: [config, route],
    reads: [
      { url: '/v1/aliases/docs.example.com?basePath=/v1', answer: { ...alias, config: config.Config } },
      { url: '/v1/resolve?hostname=docs.example.com&path=/v1/', answer: { ...alias, config: config.Config } }
    ],
    writes: [
      {
        prepare: makeDeployment,
        method: 'POST',
        url: '/v1/aliases',
        body: newAlias,
        key: ['CONFIGNEXTJS', 'com.example.www#/docs'],
        item: {
          PK: 'CONFIGNEXTJS',
          SK: 'com.example.www#/docs',
          GSI1PK: 'D#new',
          GSI1SK: `${NOW_ISO}#CN#com.example.www#/docs`,
          HostnameRev: 'com.example.www',
          BasePath: '/docs',
          DeploymentId: 'new',
          CreateDate: NOW_ISO,
          Config: { a: [1, { b: null }] }
        }
      }
    ]
  }
]
