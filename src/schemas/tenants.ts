import Type from 'typebox'
import { operations } from '../entities/tenants.js'
import { component, identifier, PageQuery, pageOf, strict, Timestamp } from './common.js'

const TenantId = identifier('The id of a tenant.', ['032400-000000-0000-0002'])
const ARN = 'arn:aws:sqs:eu-west-1:123456789012:tenant-inbound'
const URL = 'https://sqs.eu-west-1.amazonaws.com/123456789012/tenant-inbound'

/** `major.minor.patch`. */
export const VERSION = '^(0|[1-9]\\d{0,8})\\.(0|[1-9]\\d{0,8})\\.(0|[1-9]\\d{0,8})$'
const Version = Type.String({
  pattern: VERSION,
  description: 'Of the stack: `major.minor.patch`.',
  examples: ['0.1.0']
})
const address = (description: string, example: string) =>
  Type.String({
    description,
    minLength: 1,
    maxLength: 2048,
    pattern: '^[^\\s\\u0000-\\u001f\\u007f]+$',
    examples: [example]
  })

const Operation = Type.Enum([...operations], {
  description: 'What is done to the tenant’s stack.',
  examples: ['CREATE']
})
const Status = Type.Enum(['Started', 'Failure', 'Success'], { examples: ['Success'] })
const Execution = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'The ARN of the Step Functions execution.',
  examples: ['arn:aws:states:eu-west-1:123456789012:execution:provision:create-0-1-0-t1-0123456789abcdef']
})

export const TenantParams = Type.Object({ tenantId: TenantId })
export const AuditParams = Type.Object({ tenantId: TenantId, operation: Operation })
export const AuditQuery = strict({
  version: Type.Optional(
    Type.String({
      pattern: VERSION,
      description: 'Of the operation: needed for an UPDATE, possible for a CREATE, not for a DELETE.'
    })
  )
})
export const FleetQuery = strict({
  ...PageQuery,
  outdated: Type.Optional(
    Type.Boolean({ description: 'Only tenants whose stack is older than the current version, or only the others.' })
  )
})

const Queue = component(
  'Queue',
  Type.Object(
    {
      arn: Type.Optional(Type.String({ examples: [ARN] })),
      url: Type.Optional(Type.String({ examples: [URL] }))
    },
    { description: 'A queue on SQS.' }
  )
)

export const Tenant = component(
  'Tenant',
  Type.Object(
    {
      tenantId: Type.String({ examples: ['032400-000000-0000-0002'] }),
      createdAt: Type.Optional(Timestamp('When the stack was first created.')),
      updatedAt: Type.Optional(Timestamp('When it was last updated.')),
      version: Type.Optional(Type.String({ description: 'The version of the stack.', examples: ['0.1.0'] })),
      inboundQueue: Type.Optional(Queue),
      outboundQueue: Type.Optional(Queue)
    },
    { description: 'A tenant’s stack. The outbound queue is there only while an older stack has one.' }
  )
)
export const TenantPage = pageOf('TenantPage', Tenant)
export const TenantStack = component(
  'TenantStack',
  strict({
    version: Version,
    inboundQueueArn: address('The ARN of the inbound queue.', ARN),
    inboundQueueUrl: address('The URL of the inbound queue.', URL)
  })
)

export const Audit = component(
  'Audit',
  Type.Object(
    {
      operation: Operation,
      version: Type.Optional(Type.String({ description: 'Which version it was for.', examples: ['0.1.0'] })),
      status: Type.Optional(Type.String({ description: '`Started`, `Failure` or `Success`.', examples: ['Started'] })),
      execution: Type.Optional(Type.String({ description: 'The ARN of the Step Functions execution.' })),
      updatedAt: Type.Optional(Timestamp('When the record was last written.')),
      retryCount: Type.Optional(Type.Number({ description: 'How often it was started again.', examples: [0] })),
      reason: Type.Optional(Type.String({ description: 'Why it failed.' }))
    },
    { description: 'How an operation on a tenant went the last time.' }
  )
)
export const AuditPage = pageOf('AuditPage', Audit)
export const NewOperation = component('NewOperation', strict({ operation: Operation }))
export const Outcome = component(
  'Outcome',
  strict({
    status: Status,
    execution: Execution,
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 32_768, description: 'Why it failed.' }))
  })
)
export const TenantOverview = component(
  'TenantOverview',
  Type.Object(
    { metadata: Type.Union([Tenant, Type.Null()]), audit: Type.Array(Audit) },
    { description: 'All of a tenant; the metadata is null until the stack is there.' }
  )
)
export const TenantQueue = component(
  'TenantQueue',
  Type.Object(
    {
      tenantId: Type.String(),
      queue: Queue,
      version: Type.Optional(Type.String({ description: 'The version of the stack.', examples: ['0.1.0'] })),
      outdated: Type.Boolean({ description: 'Whether the stack is older than the current version.' })
    },
    { description: 'The queue of a tenant.' }
  )
)

export const Upgrade = component(
  'Upgrade',
  strict(
    {
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100, default: 25, description: 'How many tenants at most.' })
      ),
      cursor: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 8192,
          description: 'Where to go on: the `cursor` of the answer before.'
        })
      )
    },
    { examples: [{ limit: 10 }] }
  )
)
export const UpgradePage = pageOf(
  'UpgradePage',
  component(
    'UpgradedTenant',
    Type.Object(
      {
        tenantId: Type.String(),
        started: Type.Boolean({ description: 'Whether this call started the upgrade.' }),
        audit: Audit
      },
      { description: 'An outdated tenant, and how its upgrade to the current version stands.' }
    )
  )
)
