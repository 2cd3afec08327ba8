import t from 'tap'
import { parse } from 'yaml'
import { lintTemplate, type Template } from '../scripts/template-lint.js'
import { readConfig } from '../src/config.js'
import { type Domain, domains } from '../src/dynamo/tables.js'
import { serverlessYaml, tablesYaml } from '../src/infra/files.js'

const names = readConfig({}).tables
const tables = (chosen: readonly Domain[] = domains): Template => parse(tablesYaml(chosen, names))
const serverless = (chosen: readonly Domain[] = domains): Template =>
  parse(serverlessYaml(chosen, names, '../dist/lambda'))

t.test('the templates are what AWS’s specification of its resources allows', async t => {
  for (const chosen of [domains, ...domains.map(domain => [domain])]) {
    t.strictSame(lintTemplate(tables(chosen)), [], `tables of ${chosen}`)
    t.strictSame(lintTemplate(serverless(chosen)), [], `functions for ${chosen}`)
  }
})

// biome-ignore lint/suspicious/noExplicitAny: a template is changed at will here
type Any = any

/** A template with one mistake, and what is said about it. */
const mistakes: [string, () => Template, (template: Any) => void, string][] = [
  [
    'a property of another name',
    tables,
    ({ Resources: { CelloTable: table } }) => (table.Properties.BillingModus = 'PAY_PER_REQUEST'),
    'CelloTable.Properties: BillingModus is not known'
  ],
  [
    'a property deep inside',
    tables,
    ({ Resources: { LayersTable: table } }) => (table.Properties.GlobalSecondaryIndexes[1].Projektion = {}),
    'LayersTable.Properties.GlobalSecondaryIndexes[1]: Projektion is not known'
  ],
  [
    'a property that is required',
    tables,
    ({ Resources: { LayersTable: table } }) => delete table.Properties.TimeToLiveSpecification.Enabled,
    'LayersTable.Properties.TimeToLiveSpecification: Enabled is required'
  ],
  [
    'a value of another type',
    tables,
    ({ Resources: { CelloTable: table } }) => (table.Properties.SSESpecification.SSEEnabled = 'yes'),
    'CelloTable.Properties.SSESpecification.SSEEnabled: is no boolean'
  ],
  [
    'a resource of another type',
    tables,
    ({ Resources: { CelloTable: table } }) => (table.Type = 'AWS::DynamoDB::Tables'),
    'CelloTable: there is no AWS::DynamoDB::Tables'
  ],
  [
    'something beside the properties',
    tables,
    ({ Resources: { CelloTable: table } }) => (table.DeletePolicy = 'Retain'),
    'CelloTable: DeletePolicy is not known'
  ],
  [
    'an attribute that the resource has not',
    tables,
    ({ Outputs }) => (Outputs.LayersStreamArn.Value = { 'Fn::GetAtt': ['LayersTable', 'StreamARN'] }),
    'Outputs.LayersStreamArn.Value: AWS::DynamoDB::Table has no StreamARN'
  ],
  [
    'a property of SAM',
    serverless,
    ({ Resources: { ApiFunction } }) => (ApiFunction.Properties.Memory = 512),
    'ApiFunction.Properties: Memory is not known'
  ],
  [
    'a global property',
    serverless,
    ({ Globals }) => (Globals.Function.Timeout = '30 s'),
    'Globals.Function.Timeout: is no number'
  ],
  [
    'a property of an event',
    serverless,
    ({ Resources: { StreamFunction } }) => (StreamFunction.Properties.Events.Stream.Properties.Batch = 1),
    'StreamFunction.Properties.Events.Stream.Properties: Batch is not known'
  ],
  [
    'a property of an event that is required',
    serverless,
    ({ Resources: { StreamFunction } }) => delete StreamFunction.Properties.Events.Stream.Properties.StartingPosition,
    'StreamFunction.Properties.Events.Stream.Properties: StartingPosition is required'
  ],
  [
    'an event of another type',
    serverless,
    ({ Resources: { ExpiryFunction } }) => (ExpiryFunction.Properties.Events.Removed.Type = 'EventBridge'),
    'ExpiryFunction.Properties.Events.Removed: there is no event of type EventBridge'
  ],
  [
    'a policy without statements',
    serverless,
    ({ Resources: { ExpiryFunction } }) => delete ExpiryFunction.Properties.Policies[0].Statement,
    'ExpiryFunction.Properties.Policies[0]: Statement is required'
  ],
  [
    'a parameter that is not there',
    serverless,
    ({ Parameters }) => delete Parameters.CursorKey,
    'Resources.ApiFunction.Properties.Environment.Variables.CURSOR_KEY: there is no CursorKey'
  ],
  [
    'a name in a text that is not there',
    serverless,
    ({ Outputs }) => (Outputs.ApiUrl.Value = { 'Fn::Sub': 'https://${HttpApi}.${AWS::Region}' }),
    'Outputs.ApiUrl.Value: there is no HttpApi'
  ],
  [
    'a function that is not there',
    serverless,
    ({ Outputs }) => (Outputs.ApiUrl.Value = { 'Fn::Subs': 'x' }),
    'Outputs.ApiUrl.Value: there is no function Fn::Subs'
  ]
]

for (const [what, make, change, complaint] of mistakes) {
  t.test(`${what} is found`, async t => {
    const template = make()
    change(template)
    t.strictSame(lintTemplate(template), [complaint])
  })
}
