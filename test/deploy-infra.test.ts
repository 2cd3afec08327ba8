import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { readConfig } from '../src/config.js'
import { domains, keyNames, type TableDefinition, type TableId, tables } from '../src/dynamo/tables.js'
import { access } from '../src/infra/access.js'
import { tablesTemplate } from '../src/infra/cloudformation.js'
import { infraCommands } from '../src/infra/commands.js'
import { policyDocument } from '../src/infra/policy.js'
import { serverlessTemplate } from '../src/infra/serverless.js'

const names = readConfig({}).tables
const root = new URL('../../', import.meta.url)
const run = (script: string, words: string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, [fileURLToPath(new URL(script, root)), ...words], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env }
  })

/** The snippet of the document of projects, as it stands there. */
const DOCUMENT = `
Resources:
  CelloTable:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: cello
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - AttributeName: pk
          AttributeType: S
        - AttributeName: sk
          AttributeType: S
      KeySchema:
        - AttributeName: pk
          KeyType: HASH
        - AttributeName: sk
          KeyType: RANGE
`

t.test('the files in infra/ are what the declarations generate', async t => {
  const { status, stderr } = run('dist/scripts/infra.js', ['--check'])
  t.equal(status, 0, stderr)
})

t.test('the projects table is the document’s, with backup and encryption', async t => {
  const template = parse(readFileSync(new URL('infra/tables.yaml', root), 'utf8'))
  const { CelloTable } = parse(DOCUMENT).Resources
  const { PointInTimeRecoverySpecification, SSESpecification, ...rest } = template.Resources.CelloTable.Properties
  t.strictSame(rest, CelloTable.Properties)
  t.strictSame(PointInTimeRecoverySpecification, { PointInTimeRecoveryEnabled: true })
  t.strictSame(SSESpecification, { SSEEnabled: true })
  t.match(template.Resources.CelloTable, { Type: CelloTable.Type, DeletionPolicy: 'Retain' })
})

t.test('every table has its keys, indexes, TTL and stream', async t => {
  const { Resources, Outputs } = tablesTemplate(domains, names) as {
    Resources: Record<string, { Properties: Record<string, unknown> }>
    Outputs?: object
  }
  t.strictSame(Object.keys(Resources), [
    'DeploymentTable',
    'AliasTable',
    'LayersTable',
    'TenantsTable',
    'CelloTable',
    'ComposeTable'
  ])
  for (const [id, table] of Object.entries(tables) as [TableId, TableDefinition][]) {
    const { Properties } = Object.values(Resources).find(({ Properties }) => Properties.TableName === names[id]) ?? {}
    const attributes = Properties?.AttributeDefinitions as { AttributeName: string }[]
    t.strictSame(attributes.map(a => a.AttributeName).sort(), keyNames(table).sort(), id)
    t.equal((Properties?.GlobalSecondaryIndexes as unknown[] | undefined)?.length ?? 0, table.indexes.length)
    const expiry = Properties?.TimeToLiveSpecification as { AttributeName: string } | undefined
    t.equal(expiry?.AttributeName, table.ttl)
    t.strictSame(Properties?.StreamSpecification, table.stream ? { StreamViewType: table.stream } : undefined)
  }
  t.match(Outputs, { LayersStreamArn: { Value: { 'Fn::GetAtt': ['LayersTable', 'StreamArn'] } } })
  t.notOk(tablesTemplate(['projects'], names).Outputs, 'no stream, no output')
})

t.test('a policy has what its domains use and nothing else', async t => {
  const { Statement } = policyDocument(['projects'], names)
  t.strictSame(
    Statement.map(({ Sid }) => Sid),
    ['ProjectsTable']
  )
  t.strictSame(Statement[0]?.Resource, ['arn:aws:dynamodb:*:*:table/cello'])
  const all = policyDocument(domains, names).Statement
  const sids = all.map(({ Sid }) => Sid)
  t.equal(new Set(sids).size, sids.length, 'IAM refuses a Sid that comes twice')
  for (const { Sid, Action, Resource } of all) {
    t.match(Sid, /^[A-Za-z0-9]+$/)
    t.notOk(
      Action.some(action => action.includes('*')),
      'no action is a wildcard'
    )
    t.ok(Sid === 'FindStream' || !Resource.includes('*'), `${Sid} names its resources`)
  }
  t.strictSame(all.find(({ Sid }) => Sid === 'AliasesIndexes')?.Resource, [
    'arn:aws:dynamodb:*:*:table/AliasTable/index/DeploymentIdIndex'
  ])
  for (const [id, { indexes }] of Object.entries(access)) {
    const declared: string[] = tables[id as TableId].indexes.map(index => index.name)
    t.strictSame([...indexes].sort(), declared.sort(), `${id}: every index is used, and is there`)
  }
})

t.test('with a role of its own, the projects table needs only that role', async t => {
  const { status, stdout } = run('dist/src/cli.js', ['tables', 'policy', '--domains', 'projects'], {
    CELLO_DYNAMODB_ASSUME_ROLE_ARN: 'arn:aws:iam::123456789012:role/cello'
  })
  t.equal(status, 0)
  t.strictSame(JSON.parse(stdout).Statement, [
    {
      Sid: 'AssumeProjectsRole',
      Effect: 'Allow',
      Action: ['sts:AssumeRole'],
      Resource: ['arn:aws:iam::123456789012:role/cello']
    }
  ])
})

t.test('the rule of the expiry function is the document’s', async t => {
  const template = serverlessTemplate(domains, names, '../dist/lambda')
  const { ExpiryFunction, StreamFunction, ApiFunction } = template.Resources as unknown as Record<
    string,
    { Properties: { Handler: string; Events: Record<string, { Properties: Record<string, unknown> }> } }
  >
  const pattern = ExpiryFunction?.Properties.Events.Removed?.Properties.Pattern as Record<string, unknown>
  t.strictSame(pattern['detail-type'], ['REMOVE'])
  t.strictSame(pattern.detail, { pk_type: ['lyr'] })
  t.match(pattern.source, [{ 'Fn::Select': [3, { 'Fn::Split': ['/', { Ref: 'LayersStreamArn' }] }] }])
  t.strictSame(
    [ApiFunction, StreamFunction, ExpiryFunction].map(one => one?.Properties.Handler),
    ['api.handler', 'stream.handler', 'expiry.handler']
  )
  const text = JSON.stringify(template)
  const known = new Set([...Object.keys(template.Parameters), ...Object.keys(template.Resources)])
  for (const [, name = ''] of text.matchAll(/"Ref":"(\w+)"/g)) t.ok(known.has(name), `${name} is declared`)
  const without = serverlessTemplate(['projects'], names, 'dist/lambda')
  t.strictSame(Object.keys(without.Resources), ['ApiFunction'])
  t.strictSame(Object.keys(without.Parameters), ['AdminToken', 'CursorKey'])
})

t.test('quintet tables cloudformation for chosen domains and names', async t => {
  const { status, stdout } = run('dist/src/cli.js', ['tables', 'cloudformation', '--domains', 'projects,tenants'], {
    PROJECTS_TABLE: 'my-projects'
  })
  t.equal(status, 0)
  const { Resources } = parse(stdout)
  t.strictSame(Object.keys(Resources), ['TenantsTable', 'CelloTable'])
  t.equal(Resources.CelloTable.Properties.TableName, 'my-projects')
  const functions = run('dist/src/cli.js', ['tables', 'serverless', '--domains', 'projects'])
  t.equal(parse(functions.stdout).Globals.Function.CodeUri, 'dist/lambda', 'as seen from where it is printed')
})

t.test('the functions have the role and the event bus that are chosen', async t => {
  const CELLO_DYNAMODB_ASSUME_ROLE_ARN = 'arn:aws:iam::123456789012:role/cello'
  const { stdout } = run('dist/src/cli.js', ['tables', 'serverless', '--domains', 'layers,projects'], {
    CELLO_DYNAMODB_ASSUME_ROLE_ARN,
    EVENT_BUS_NAME: 'mine'
  })
  const { Parameters, Resources } = parse(stdout)
  t.match(Parameters.EventBusName, { Default: 'mine' })
  const { Policies, Environment } = Resources.ApiFunction.Properties
  t.match(Environment.Variables, { CELLO_DYNAMODB_ASSUME_ROLE_ARN })
  const sids = Policies[0].Statement.map(({ Sid }: { Sid: string }) => Sid)
  t.strictSame(sids, ['LayersTable', 'LayersIndexes', 'AssumeProjectsRole'])
})

t.test('a policy for a region, an account, an event bus and workflows', async t => {
  const policy = (words: string[], env?: Record<string, string>) => {
    const { stdout } = run('dist/src/cli.js', ['tables', 'policy', ...words], env)
    return new Map(policyOf(stdout).map(({ Sid, Resource }) => [Sid, Resource]))
  }
  const policyOf = (text: string): { Sid: string; Resource: string[] }[] => JSON.parse(text).Statement
  const here = ['--region', 'eu-west-1', '--account', '123456789012']
  const layers = policy(['--domains', 'layers', ...here], { EVENT_BUS_NAME: 'mine', LAYERS_TABLE: 'my-layers' })
  t.strictSame(layers.get('LayersTable'), ['arn:aws:dynamodb:eu-west-1:123456789012:table/my-layers'])
  t.strictSame(layers.get('TellOfRemovals'), ['arn:aws:events:eu-west-1:123456789012:event-bus/mine'])
  const machines = ['a', 'b', 'c'].map(name => `arn:aws:states:eu-west-1:123456789012:stateMachine:${name}`)
  const [PROVISION_STATE_MACHINE_ARN = '', UPDATE_STATE_MACHINE_ARN = '', DELETE_STATE_MACHINE_ARN = ''] = machines
  const env = { PROVISION_STATE_MACHINE_ARN, UPDATE_STATE_MACHINE_ARN, DELETE_STATE_MACHINE_ARN }
  t.strictSame(policy(['--domains', 'tenants'], env).get('StartTenantWorkflows'), machines)
  for (const [region, partition] of [
    ['cn-north-1', 'aws-cn'],
    ['us-gov-west-1', 'aws-us-gov']
  ] as const) {
    const found = policy(['--domains', 'tenants', '--region', region])
    t.strictSame(found.get('TenantsTable'), [`arn:${partition}:dynamodb:${region}:*:table/tenants`])
    t.strictSame(found.get('StartTenantWorkflows'), [`arn:${partition}:states:*:*:stateMachine:*`])
  }
})

t.test('words that make no sense are refused with a line that says why', async t => {
  for (const [words, message] of [
    [['policy', '--domains', 'x'], /^DOMAINS must be out of .*, not "x"$/],
    [['policy', '--domains', ''], /^DOMAINS must name at least one of .*$/],
    [['policy', '--domains'], /^Option '--domains <value>' argument missing$/],
    [['policy', '--region', 'eu west'], /^--region must be a region such as eu-west-1, not "eu west"$/],
    [['policy', '--account', '12'], /^--account must be the 12 digits of an account, not "12"$/],
    [['serverless', 'extra'], /^Unexpected argument 'extra'/],
    [['serverless', '--region', 'eu-west-1'], /^--region and --account are for a policy alone$/],
    [['cloudformation', '--account', '123456789012'], /^--region and --account are for a policy alone$/]
  ] as const) {
    const [name, ...rest] = words
    t.throws(() => infraCommands[name]?.(rest, {}), { message }, words.join(' '))
  }
  const wrong = run('dist/src/cli.js', ['tables', 'cloudformation', '--nonsense'])
  t.match(wrong, { status: 2, stdout: '', stderr: /^quintet: Unknown option '--nonsense'.*\nUsage:/ })
  t.match(run('dist/src/cli.js', ['tables', 'policy', '--help']), { status: 0, stdout: /^Usage:/, stderr: '' })
})
