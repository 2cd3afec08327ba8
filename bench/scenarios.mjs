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
    method: 'POST',
    path: `/projects/${PROJECT}/tokens`,
    status: 201,
    headers: json,
    body: '{}',
    holds: 'tkn-'
  }
]
