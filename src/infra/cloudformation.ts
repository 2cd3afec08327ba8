import { createTableInput } from '../dynamo/schema.js'
import { type Domain, type TableDefinition, type TableNames, tables, tablesOf } from '../dynamo/tables.js'

/** `cello` is the CelloTable of the document; `DeploymentTable` stays what it is. */
export const logicalId = ({ defaultName }: Pick<TableDefinition, 'defaultName'>) =>
  `${defaultName[0]?.toUpperCase()}${defaultName.slice(1).replace(/Table$/, '')}Table`

/** CloudFormation of the chosen domains' tables, on demand, backed up, encrypted, and kept when the stack goes. */
export function tablesTemplate(domains: readonly Domain[], names: TableNames) {
  const chosen = tablesOf(domains)
  const resources = chosen.map(([id, table]) => [logicalId(table), tableResource(names[id], table)])
  const withStream = chosen.filter(([, table]) => table.stream)
  const stream = logicalId(tables.layers)
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Description: `Quintet: the tables of ${domains.join(', ')}`,
    Resources: Object.fromEntries(resources),
    ...(withStream.length
      ? {
          Outputs: {
            LayersStreamArn: {
              Description: 'What the stream function of serverless.yaml reads',
              Value: { 'Fn::GetAtt': [stream, 'StreamArn'] }
            }
          }
        }
      : {})
  }
}

function tableResource(name: string, table: TableDefinition) {
  const { StreamSpecification: stream, ...properties } = createTableInput(name, table)
  return {
    Type: 'AWS::DynamoDB::Table',
    DeletionPolicy: 'Retain',
    UpdateReplacePolicy: 'Retain',
    Properties: {
      ...properties,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      SSESpecification: { SSEEnabled: true },
      ...(table.ttl ? { TimeToLiveSpecification: { AttributeName: table.ttl, Enabled: true } } : {}),
      ...(stream ? { StreamSpecification: { StreamViewType: stream.StreamViewType } } : {})
    }
  }
}
