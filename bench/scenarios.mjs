// What is asked of every server; the same DynamoDB requests answer it everywhere.
import { PROJECT, REPOSITORY } from './items.mjs'

const json = { 'content-type': 'application/json' }

export const scenarios = [
  { id: 'get by key', method: 'GET', path: `/projects/${PROJECT}`, status: 200, holds: REPOSITORY },
  {
    id: 'list of 20',
    method: 'GET',
    path: `/projects/${PROJECT}/tokens?limit=20`,
    status: 200,
    holds: 'tkn-000000000019'
  },
  {
    id: 'conditional create',
    method: 'POST',
    path: '/projects',
    status: 201,
    headers: json,
    body: JSON.stringify({ name: '{unique}', repository: REPOSITORY }),
    holds: REPOSITORY
  },
  {
    id: 'transaction',
    /** dynalite has no transactions. */
    databases: ['stand-in', 'embedded'],
    method: 'POST',
    path: `/projects/${PROJECT}/tokens`,
    status: 201,
    headers: json,
    body: '{}',
    holds: 'tkn-'
  },
  {
    id: 'resolve',
    /** Its peers are those whose code does not depend on a model. */
    databases: ['stand-in'],
    variants: ['floor', 'quintet', 'quintet-sdk', 'aws'],
    method: 'GET',
    path: '/resolve?hostname=docs.example.com&path=/v1/x',
    status: 200,
    holds: 'dep-1'
  }
]
