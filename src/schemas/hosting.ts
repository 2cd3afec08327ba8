import Type from 'typebox'
import { STATUSES } from '../services/deployment-status.js'
import { ALIAS_HOSTNAME, BASE_PATH, HOSTNAME, MAX_HOSTNAME, MAX_SEGMENTS } from '../services/hostnames.js'
import { component, identifier, PageQuery, pageOf, strict, Timestamp } from './common.js'

const DeploymentId = identifier('The id of a deployment.', ['5c0d5e4a9f2b4c7e8d1a2b3c4d5e6f70'])
const Json = (description: string, examples: object[]) =>
  Type.Record(Type.String(), Type.Unknown(), { description, examples })
const Status = Type.Enum([...STATUSES], { description: 'How far the deployment is.' })
const Hostname = Type.String({
  description: 'A DNS name, or `*.` and one for every name with one label more. Case does not matter.',
  pattern: ALIAS_HOSTNAME,
  maxLength: MAX_HOSTNAME,
  examples: ['docs.example.com']
})
const BasePath = Type.String({
  description: `The path below which the alias serves, of up to ${MAX_SEGMENTS} segments.`,
  pattern: BASE_PATH,
  maxLength: 1024,
  default: '/',
  examples: ['/']
})
const Target = identifier(
  'A deployment’s id, or an alias such as `example.com/docs`, which stands for its deployment.',
  ['5c0d5e4a9f2b4c7e8d1a2b3c4d5e6f70']
)

const routing = {
  routes: Json('The routes.', [{ '/': { file: 'index.html' } }]),
  lambdaRoutes: Json('The routes that functions answer.', [{ '/api/[id]': 'https://fn.example.com' }]),
  prerenders: Json('The routes that are rendered ahead.', [{ '/blog': { lambda: 'page' } }])
}
const optionalRouting = {
  routes: Type.Optional(routing.routes),
  lambdaRoutes: Type.Optional(routing.lambdaRoutes),
  prerenders: Type.Optional(routing.prerenders)
}
const Config = Json('The Next.js config of the alias.', [{ trailingSlash: false }])

export const DeploymentParams = Type.Object({ deploymentId: DeploymentId })

const summaryFields = {
  deploymentId: Type.String(),
  createDate: Timestamp('When the deployment was created.'),
  status: Type.String({ description: 'How far it is.', examples: ['FINISHED'] }),
  deploymentAlias: Type.Optional(Type.String({ description: 'The host that is the deployment’s own.' }))
}
export const Deployment = component(
  'Deployment',
  Type.Object(
    {
      ...summaryFields,
      deploymentTemplate: Type.Optional(Type.String({ examples: ['FUNCTION_URLS'] })),
      cfStack: Type.Optional(Type.String({ description: 'The CloudFormation stack.' })),
      ...optionalRouting
    },
    { description: 'What was built, and how far its stack is.' }
  )
)
export const DeploymentPage = pageOf(
  'DeploymentPage',
  component(
    'DeploymentSummary',
    Type.Object(summaryFields, { description: 'A deployment, with what the index carries.' })
  )
)
export const DeploymentQuery = strict({ ...PageQuery, status: Type.Optional(Status) })
export const NewDeployment = component(
  'NewDeployment',
  strict(
    {
      deploymentId: Type.Optional(DeploymentId),
      deploymentTemplate: Type.Optional(
        Type.Enum(['FUNCTION_URLS', 'API_GATEWAY'], { description: '`FUNCTION_URLS` unless said otherwise.' })
      )
    },
    {
      description: 'A deployment to create; an id is made if none is given.',
      examples: [{ deploymentId: '5c0d5e4a9f2b4c7e8d1a2b3c4d5e6f70' }]
    }
  )
)
export const StatusChange = component(
  'StatusChange',
  strict(
    {
      status: Status,
      cfStack: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, description: 'The CloudFormation stack.' })),
      deploymentAlias: Type.Optional(
        Type.String({ minLength: 1, maxLength: 2048, description: 'The host that is the deployment’s own.' })
      ),
      ...optionalRouting
    },
    { description: 'The status to come to, and what is known by then.', examples: [{ status: 'FINISHED' }] }
  )
)
export const DeletionQuery = strict({
  force: Type.Optional(
    Type.Boolean({ description: 'Remove a deployment whose destruction is in progress or has failed.' })
  )
})

const pointerFields = {
  hostname: Type.String({ examples: ['docs.example.com'] }),
  basePath: Type.String({ examples: ['/'] }),
  deploymentId: Type.String(),
  createDate: Timestamp('Since when the alias points there.'),
  deploymentAlias: Type.Boolean({ description: 'Whether it is the deployment’s own and goes with it.' })
}
export const Alias = component(
  'Alias',
  Type.Object(
    { ...pointerFields, ...routing, config: Type.Optional(Config) },
    { description: 'Where a deployment is served, with a copy of its routes.' }
  )
)
export const AliasPage = pageOf(
  'AliasPage',
  component('AliasSummary', Type.Object(pointerFields, { description: 'An alias, with what the index carries.' }))
)
export const NewAlias = component(
  'NewAlias',
  strict(
    {
      hostname: Hostname,
      basePath: Type.Optional(BasePath),
      target: Target,
      deploymentAlias: Type.Optional(Type.Boolean({ description: 'Make it the deployment’s own alias.' })),
      override: Type.Optional(Type.Boolean({ description: 'Move the alias if there is one.' })),
      config: Type.Optional(Config)
    },
    { examples: [{ hostname: 'docs.example.com', target: '5c0d5e4a9f2b4c7e8d1a2b3c4d5e6f70' }] }
  )
)
export const AliasParams = Type.Object({
  hostname: identifier('The alias’s host.', ['docs.example.com'])
})
export const AliasQuery = strict({ basePath: Type.Optional(BasePath) })
export const ResolveQuery = strict({
  hostname: Type.String({
    description: 'The host of a URL.',
    pattern: HOSTNAME,
    maxLength: MAX_HOSTNAME,
    examples: ['docs.example.com']
  }),
  path: Type.Optional(
    Type.String({
      description: 'The path of a URL, without its query.',
      pattern: '^/[^?#\\u0000-\\u001f\\u007f-\\u009f]*$',
      maxLength: 8192,
      default: '/',
      examples: ['/docs/intro']
    })
  )
})

export const AliasMoves = component(
  'AliasMoves',
  Type.Array(strict({ hostname: Hostname, basePath: Type.Optional(BasePath), target: Target }), {
    minItems: 1,
    maxItems: 25,
    description: 'Aliases that are there, each once, and where they shall point.',
    examples: [
      [
        { hostname: 'blue.example.com', basePath: '/', target: 'green.example.com/' },
        { hostname: 'green.example.com', basePath: '/', target: 'blue.example.com/' }
      ]
    ]
  })
)
export const MovedAliases = component(
  'MovedAliases',
  Type.Object({ items: Type.Array(Alias) }, { description: 'The aliases, in the order in which they were named.' })
)

export const HistoryQuery = strict({ ...PageQuery, basePath: Type.Optional(BasePath) })
const IdOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
export const HistoryPage = pageOf(
  'AliasHistoryPage',
  component(
    'AliasChange',
    Type.Object(
      {
        changeId: Type.String({ examples: ['2026-01-31T12:00:00.000Z-000000-0a1b2c3d'] }),
        action: Type.String({ description: '`created`, `moved`, `swapped`, `reverted` or `deleted`.' }),
        changeDate: Timestamp('When it happened.'),
        deploymentId: IdOrNull('Where the alias pointed afterwards.'),
        previousDeploymentId: IdOrNull('Where it pointed before.')
      },
      { description: 'What became of an alias.' }
    )
  )
)
export const Revert = component(
  'Revert',
  strict(
    {
      to: Type.Optional(
        identifier('A `changeId` of the history: point where it did after that change.', [
          '2026-01-31T12:00:00.000Z-000000-0a1b2c3d'
        ])
      ),
      from: Type.Optional(
        identifier('The deployment that the alias must still point at; otherwise 409.', [
          '5c0d5e4a9f2b4c7e8d1a2b3c4d5e6f70'
        ])
      )
    },
    { description: 'Where to go back to: where the last change came from, unless said otherwise.', examples: [{}] }
  )
)
