import Type from 'typebox'
import { IDENTIFIER } from '../dynamo/keys.js'
import { component, PageQuery, pageOf, strict, Timestamp } from './common.js'

const REGION = '^[a-z]{2,8}(-[a-z]{2,16}){1,3}-[0-9]{1,2}$'
/** PEP 508's names, with the extras that we drop. */
const PACKAGE = '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?( *\\[[A-Za-z0-9._, -]*\\])?$'
const ARN = '^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:layer:[A-Za-z0-9_-]{1,140}:[0-9]{1,15}$'

const Region = Type.String({ description: 'An AWS region.', pattern: REGION, maxLength: 64, examples: ['eu-west-1'] })
const Package = Type.String({
  description: 'The name of a Python package (PEP 508); extras are dropped.',
  pattern: PACKAGE,
  minLength: 1,
  maxLength: 512,
  examples: ['requests']
})
const Version = Type.Integer({
  description: 'The number of a version.',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  examples: [1]
})
const ChannelName = Type.String({
  description: 'The name of a channel, such as `lts` or `1.x`; not `latest`.',
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  maxLength: 64,
  examples: ['lts']
})
const PackageVersion = Type.String({
  description: 'The version of the package itself.',
  pattern: IDENTIFIER.replace('#', ''),
  maxLength: 256,
  examples: ['2.32.3']
})
const Text = Type.String({
  description: 'The requirements.txt that it was made from, as large as an item can be.',
  examples: ['requests==2.32.3\n']
})
const Hash = Type.String({
  description: 'The SHA-256 of the text in hexadecimal; if it is sent, it must be right.',
  pattern: '^[0-9A-Fa-f]{64}$'
})

export const PackageInRegionParams = Type.Object({ region: Region, package: Package })
export const LayerParams = Type.Object({ region: Region, package: Package, version: Version })
export const ChannelParams = Type.Object({ region: Region, package: Package, name: ChannelName })
export const RegionParams = Type.Object({ region: Region })
export const PackageParams = Type.Object({ package: Package })
export const BuildParams = Type.Object({ package: Package, version: Version })

const status = <const T extends string>(...values: T[]) =>
  Type.Optional(Type.Unsafe<T>(Type.Enum(values, { type: 'string', description: 'Only those of this status.' })))
export const VersionsQuery = strict({ ...PageQuery, status: status('latest', 'deprecated', 'deleted') })
export const DeployedQuery = strict({ ...PageQuery, status: status('latest', 'deprecated') })
export const DeleteQuery = strict({
  withdraw: Type.Optional(
    Type.Boolean({ default: false, description: 'Deletes the version even if it is the latest; then none is.' })
  )
})

const content = {
  packageVersion: Type.Optional(Type.String({ examples: ['2.32.3'] })),
  requirementsTxt: Type.Optional(Type.String({ examples: ['requests==2.32.3\n'] })),
  requirementsHash: Type.Optional(Type.String({ description: 'The SHA-256 of the text in hexadecimal.' })),
  createdAt: Type.Optional(Timestamp('When it was published.'))
}

export const Layer = component(
  'Layer',
  Type.Object(
    {
      region: Type.String({ examples: ['eu-west-1'] }),
      package: Type.String({ examples: ['requests'] }),
      version: Type.Integer({ examples: [1] }),
      arn: Type.Optional(Type.String({ examples: ['arn:aws:lambda:eu-west-1:123456789012:layer:requests:1'] })),
      ...content,
      status: Type.String({ description: '`latest`, `deprecated` or `deleted`.', examples: ['latest'] }),
      expiresAt: Type.Optional(Timestamp('When a deprecated version will be deleted.')),
      deletedAt: Type.Optional(Timestamp('When the version was deleted.')),
      channels: Type.Optional(Type.Array(Type.String(), { description: 'The channels that hold the version.' }))
    },
    { description: 'A version of a Lambda layer.' }
  )
)
export const LayerPage = pageOf('LayerPage', Layer)
export const NewLayer = component(
  'NewLayer',
  strict(
    {
      region: Region,
      package: Package,
      packageVersion: PackageVersion,
      arn: Type.String({
        description: 'The ARN of the layer version, in that region.',
        pattern: ARN,
        maxLength: 256,
        examples: ['arn:aws:lambda:eu-west-1:123456789012:layer:requests:1']
      }),
      requirementsTxt: Text,
      requirementsHash: Type.Optional(Hash)
    },
    {
      examples: [
        {
          region: 'eu-west-1',
          package: 'requests',
          packageVersion: '2.32.3',
          arn: 'arn:aws:lambda:eu-west-1:123456789012:layer:requests:1',
          requirementsTxt: 'requests==2.32.3\n'
        }
      ]
    }
  )
)

export const LayerChange = component(
  'LayerChange',
  strict(
    {
      expiresAt: Type.Union([Type.String({ format: 'date-time', maxLength: 40 }), Type.Null()], {
        description: 'When the version expires, in the future; `null` undoes its deprecation.'
      })
    },
    { examples: [{ expiresAt: null }] }
  )
)

export const Build = component(
  'Build',
  Type.Object(
    { package: Type.String({ examples: ['requests'] }), version: Type.Integer({ examples: [1] }), ...content },
    { description: 'A build of a package: the requirements that layers are made from.' }
  )
)
export const BuildPage = pageOf('BuildPage', Build)
export const NewBuild = component(
  'NewBuild',
  strict(
    { package: Package, packageVersion: PackageVersion, requirementsTxt: Text, requirementsHash: Type.Optional(Hash) },
    { examples: [{ package: 'requests', packageVersion: '2.32.3', requirementsTxt: 'requests==2.32.3\n' }] }
  )
)

export const DriftPage = pageOf(
  'DriftPage',
  component(
    'Drift',
    Type.Object(
      {
        region: Type.String({ examples: ['eu-west-1'] }),
        version: Type.Integer({ description: 'The latest version in the region.', examples: [1] }),
        deployedHash: Type.String({ description: 'The hash of the requirements that it was made from.' }),
        latestHash: Type.String({ description: 'The hash of the requirements of the latest build.' }),
        current: Type.Boolean({ description: 'Whether both are the same.' })
      },
      { description: 'Whether a region has the latest build of a package.' }
    )
  )
)

export const Channel = component(
  'LayerChannel',
  Type.Object(
    {
      name: Type.String({ examples: ['lts'] }),
      region: Type.String({ examples: ['eu-west-1'] }),
      package: Type.String({ examples: ['requests'] }),
      version: Type.Integer({ examples: [1] }),
      updatedAt: Timestamp('When the channel was last pointed at a version.')
    },
    { description: 'A name for a version, which does not expire while the channel holds it.' }
  )
)
export const ChannelPage = pageOf('LayerChannelPage', Channel)
export const ChannelTarget = component(
  'LayerChannelTarget',
  strict({ version: Version }, { examples: [{ version: 1 }] })
)
