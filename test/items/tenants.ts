import { type ItemCase, NOW_ISO } from './case.js'

const pk = 'TENANT_ID#032400-000000-0000-0002'
const at = '/v1/tenants/032400-000000-0000-0002'
const time = '2020-08-31T16:02:16.808Z'
const metadata = {
  pk,
  sk: 'METADATA',
  CreatedAt: time,
  UpdatedAt: time,
  Version: '0.1.12',
  OutboundQueueArn: 'arn:out',
  OutboundQueueUrl: 'https://out',
  InboundQueueArn: 'arn:in',
  InboundQueueUrl: 'https://in'
}
const create = { pk, sk: 'AUDIT#CREATE', UpdatedAt: time, Execution: 'arn:aws:states:1', Status: 'Started' }
const update = {
  pk,
  sk: 'AUDIT#UPDATE#0.1.18',
  UpdatedAt: '2020-09-02T00:00:00.000Z',
  Execution: 'arn:aws:states:2',
  Status: 'Failure',
  RetryCount: 2,
  Reason: 'no quota'
}
const remove = { ...create, sk: 'AUDIT#DELETE', UpdatedAt: '2020-09-01T00:00:00.000Z', Status: 'Success' }
const versioned = { ...create, sk: 'AUDIT#CREATE#0.1.12', UpdatedAt: '2020-08-30T00:00:00.000Z', Status: 'Success' }

const tenant = {
  tenantId: '032400-000000-0000-0002',
  createdAt: time,
  updatedAt: time,
  version: '0.1.12',
  inboundQueue: { arn: 'arn:in', url: 'https://in' },
  outboundQueue: { arn: 'arn:out', url: 'https://out' }
}
const audit = [
  {
    operation: 'UPDATE',
    version: '0.1.18',
    status: 'Failure',
    execution: 'arn:aws:states:2',
    updatedAt: update.UpdatedAt,
    retryCount: 2,
    reason: 'no quota'
  },
  { operation: 'DELETE', status: 'Success', execution: 'arn:aws:states:1', updatedAt: remove.UpdatedAt },
  { operation: 'CREATE', status: 'Started', execution: 'arn:aws:states:1', updatedAt: time },
  {
    operation: 'CREATE',
    version: '0.1.12',
    status: 'Success',
    execution: 'arn:aws:states:1',
    updatedAt: versioned.UpdatedAt
  }
]
const stack = { version: '0.1.14', inboundQueueArn: 'arn:new', inboundQueueUrl: 'https://new' }
const stored = { Version: '0.1.14', InboundQueueArn: 'arn:new', InboundQueueUrl: 'https://new', UpdatedAt: NOW_ISO }

/** What a record of ours holds after an operation was started. */
const started = (sk: string, tenantId: string, answer: Record<string, unknown>) => ({
  pk: `TENANT_ID#${tenantId}`,
  sk,
  UpdatedAt: NOW_ISO,
  Execution: answer.execution,
  Status: 'Started',
  RetryCount: 0,
  Input: JSON.stringify({ tenantId, version: '0.1.0', retryCount: 0 })
})

export const tenantItems: ItemCase[] = [
  {
    entity: 'Tenant',
    domain: 'tenants',
    table: 'tenants',
    document: [metadata, create, update, remove, versioned],
    reads: [
      { url: at, answer: tenant },
      { url: `${at}/overview`, answer: { metadata: tenant, audit } },
      {
        url: `${at}/queue`,
        answer: { tenantId: tenant.tenantId, queue: tenant.inboundQueue, version: '0.1.12', outdated: false }
      },
      { url: '/v1/tenants', answer: { items: [tenant], cursor: null } }
    ],
    writes: [
      {
        method: 'PUT',
        url: '/v1/tenants/t1',
        body: stack,
        key: ['TENANT_ID#t1', 'METADATA'],
        item: { pk: 'TENANT_ID#t1', sk: 'METADATA', CreatedAt: NOW_ISO, ...stored }
      },
      {
        prepare: ({ raw }) => raw.put('tenants', metadata),
        method: 'PUT',
        url: at,
        body: stack,
        key: [pk, 'METADATA'],
        item: { pk, sk: 'METADATA', CreatedAt: time, ...stored }
      }
    ],
    update: { method: 'PUT', url: at, body: stack }
  },
  {
    entity: 'Audit',
    domain: 'tenants',
    table: 'tenants',
    document: [create, update, remove, versioned],
    reads: [
      { url: `${at}/audit`, answer: { items: audit, cursor: null } },
      { url: `${at}/overview`, answer: { metadata: null, audit } }
    ],
    writes: [
      ...(['CREATE', 'UPDATE', 'DELETE'] as const).map(operation => {
        const sk = operation === 'UPDATE' ? 'AUDIT#UPDATE#0.1.0' : `AUDIT#${operation}`
        return {
          method: 'POST' as const,
          url: '/v1/tenants/t1/operations',
          body: { operation },
          key: ['TENANT_ID#t1', sk] as [string, string],
          item: (answer: Record<string, unknown>) => started(sk, 't1', answer)
        }
      }),
      {
        prepare: ({ raw }) => raw.put('tenants', update),
        method: 'PUT',
        url: `${at}/audit/UPDATE?version=0.1.18`,
        body: { status: 'Success', execution: 'arn:aws:states:2' },
        key: [pk, update.sk],
        item: {
          pk,
          sk: update.sk,
          UpdatedAt: NOW_ISO,
          Execution: 'arn:aws:states:2',
          Status: 'Success',
          RetryCount: 2
        }
      }
    ],
    update: {
      method: 'PUT',
      url: `${at}/audit/CREATE`,
      body: { status: 'Success', execution: 'arn:aws:states:1' }
    }
  }
]
