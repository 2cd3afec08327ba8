import Type from 'typebox'
import { component, identifier, pageOf, strict, Timestamp } from './common.js'

const ProjectName = Type.String({
  description: 'The name of a new project.',
  pattern: '^[A-Za-z0-9]{4,32}$',
  examples: ['myproj']
})
const Repository = Type.String({
  description: 'A git URI: `https://…`, `ssh://…` or `git@host:path`.',
  pattern: '^(https://[^\\s/]+/\\S+|ssh://[^\\s/]+/\\S+|git@[^\\s:/]+:\\S+)$',
  maxLength: 2048,
  examples: ['https://github.com/example/myproj']
})
const StoredName = identifier('The name of a project.', ['myproj'])

export const ProjectParams = Type.Object({ name: StoredName })
export const TokenParams = Type.Object({
  name: StoredName,
  tokenId: identifier('The id of a token.', ['tkn-0123456789abcdef0123456789abcdef'])
})
export const TargetParams = Type.Object({
  name: StoredName,
  target: identifier('The name of a target.', ['production'])
})

export const Project = component(
  'Project',
  Type.Object(
    { name: Type.String({ examples: ['myproj'] }), repository: Type.String() },
    { description: 'A project of Cello.' }
  )
)
export const NewProject = component('NewProject', strict({ name: ProjectName, repository: Repository }))
export const ProjectChange = component('ProjectChange', strict({ repository: Repository }))

const tokenFields = {
  tokenId: Type.String({ examples: ['tkn-0123456789abcdef0123456789abcdef'] }),
  createdAt: Timestamp('When the token was made.'),
  expiresAt: Timestamp('When the token ends.'),
  active: Type.Boolean({ description: 'Whether it opens anything now.' })
}
export const Token = component('Token', Type.Object(tokenFields, { description: 'A token, without its secret.' }))
export const TokenPage = pageOf('TokenPage', Token)
export const TokenLife = component(
  'TokenLife',
  strict(
    {
      expiresAt: Type.Optional(
        Type.String({ format: 'date-time', maxLength: 40, description: 'When the token ends, in the future.' })
      ),
      expiresInDays: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 36_500, description: 'Or after how many days.' })
      )
    },
    { description: 'How long a token lives: 365 days unless said otherwise.', examples: [{ expiresInDays: 90 }] }
  )
)
export const NewToken = component(
  'NewToken',
  Type.Object(
    { ...tokenFields, token: Type.String({ description: 'The secret to keep. It is shown this once.' }) },
    { description: 'A token with its secret.' }
  )
)
export const Rotation = component(
  'Rotation',
  strict(
    {
      graceSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 31_536_000,
          default: 0,
          description: 'How long the old token still works.'
        })
      )
    },
    { examples: [{ graceSeconds: 3600 }] }
  )
)
export const TokenQuestion = component(
  'TokenQuestion',
  strict({ token: Type.String({ minLength: 1, description: 'The token as its holder presents it.' }) })
)
export const TokenVerdict = component(
  'TokenVerdict',
  Type.Object(
    {
      active: Type.Boolean(),
      project: Type.Optional(Type.String()),
      tokenId: Type.Optional(Type.String()),
      expiresAt: Type.Optional(Timestamp('When the token ends.'))
    },
    { description: 'Whether a token opens the project now, in the manner of RFC 7662.' }
  )
)

const TargetType = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'What the target is. `aws_account` has checked properties, any other type takes any.',
  examples: ['aws_account']
})
const targetProperties = {
  description:
    'Of an `aws_account`: `credential_type` (`assumed_role`), `role_arn`, up to five `policy_arns`, `policy_document` (JSON text).',
  examples: [{ credential_type: 'assumed_role', role_arn: 'arn:aws:iam::123456789012:role/deployer' }]
}
const Properties = Type.Record(Type.String(), Type.Unknown(), targetProperties)

export const Target = component(
  'Target',
  Type.Object(
    {
      name: Type.String({ examples: ['production'] }),
      type: Type.String({ examples: ['aws_account'] }),
      properties: Properties
    },
    { description: 'Where a project may deploy to.' }
  )
)
export const TargetPage = pageOf('TargetPage', Target)
export const TargetContent = component('TargetContent', strict({ type: TargetType, properties: Properties }))
export const TargetChange = component(
  'TargetChange',
  strict(
    { type: Type.Optional(TargetType), properties: Type.Optional(Properties) },
    { minProperties: 1, description: 'A merge patch (RFC 7396): `null` removes a property.' }
  )
)
export const ProjectOverview = component(
  'ProjectOverview',
  Type.Object(
    { project: Project, tokens: Type.Array(Token), targets: Type.Array(Target) },
    { description: 'A project with everything that belongs to it.' }
  )
)
