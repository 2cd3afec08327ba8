import { type Domain, type TableNames, tablesOf } from '../dynamo/tables.js'
import {
  type Arn,
  apiStatements,
  expiryStatements,
  type PolicyScope,
  type Statement,
  streamStatements
} from './policy.js'

/** AWS SAM of the three functions: the API, the layers' stream, and the end of an expired layer. */

const sub = (text: string): Arn => ({ 'Fn::Sub': text })
const ref = (name: string): { Ref: string } => ({ Ref: name })
const arn = (service: string, resource: string): Arn =>
  sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${resource}`)

/** The parameters that each state machine is given by, and the variables that name them to the API. */
const STATE_MACHINES = {
  PROVISION_STATE_MACHINE_ARN: 'ProvisionStateMachineArn',
  UPDATE_STATE_MACHINE_ARN: 'UpdateStateMachineArn',
  DELETE_STATE_MACHINE_ARN: 'DeleteStateMachineArn'
}

/** What is not asked for when the template is deployed. */
export type Settings = Pick<PolicyScope, 'assumeRole' | 'eventBus'>

/** `code` is where the bundle is, as seen from the template. */
export function serverlessTemplate(
  domains: readonly Domain[],
  names: TableNames,
  code: string,
  settings: Settings = {}
) {
  const hasLayers = domains.includes('layers')
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Transform: 'AWS::Serverless-2016-10-31',
    Description: `Quintet on Lambda: ${domains.join(', ')}`,
    Parameters: parameters(domains, settings),
    Globals: {
      Function: {
        Runtime: 'nodejs22.x',
        Architectures: ['arm64'],
        CodeUri: code,
        Timeout: 30,
        MemorySize: 1024,
        Environment: { Variables: { DYNAMODB: 'aws', ...tableVariables(domains, names) } }
      }
    },
    Resources: { ApiFunction: apiFunction(domains, names, settings), ...(hasLayers ? expiryResources(names) : {}) },
    Outputs: {
      ApiUrl: {
        Description: 'Where the API is',
        Value: sub('https://${ServerlessHttpApi}.execute-api.${AWS::Region}.${AWS::URLSuffix}/v1')
      }
    }
  }
}

function parameters(domains: readonly Domain[], { eventBus = 'default' }: Settings) {
  const secret = (Description: string) => ({ Type: 'String', NoEcho: true, MinLength: 16, Description })
  const text = (Description: string, more = {}) => ({ Type: 'String', Description, ...more })
  const machines = Object.values(STATE_MACHINES).map(name => [
    name,
    text('The workflow that the tenants domain starts')
  ])
  return {
    AdminToken: secret('The bearer token that opens the whole API'),
    CursorKey: secret('What cursors are signed with, the same on every instance'),
    ...(domains.includes('tenants')
      ? {
          TenantStackVersion: text('The current version of the stack of a tenant, such as 1.4.0'),
          ...Object.fromEntries(machines)
        }
      : {}),
    ...(domains.includes('layers')
      ? {
          LayersStreamArn: text('LayersStreamArn of the stack of tables'),
          EventBusName: text('The name of the bus that removals are told on', {
            Default: eventBus,
            AllowedPattern: '[\\w./-]{1,256}'
          })
        }
      : {})
  }
}

function tableVariables(domains: readonly Domain[], names: TableNames) {
  return Object.fromEntries(tablesOf(domains).map(([id, table]) => [table.variable, names[id]]))
}

const policies = (statements: Statement[]) => [{ Version: '2012-10-17', Statement: statements }]

function apiFunction(domains: readonly Domain[], names: TableNames, { assumeRole }: Settings) {
  const stateMachines = Object.values(STATE_MACHINES).map(ref)
  const tenants = {
    TENANT_STACK_VERSION: ref('TenantStackVersion'),
    ...Object.fromEntries(Object.entries(STATE_MACHINES).map(([variable, name]) => [variable, ref(name)]))
  }
  return {
    Type: 'AWS::Serverless::Function',
    Properties: {
      Handler: 'api.handler',
      Policies: policies(apiStatements(domains, names, arn, { stateMachines, assumeRole })),
      Environment: {
        Variables: {
          DOMAINS: domains.join(','),
          ADMIN_TOKEN: ref('AdminToken'),
          CURSOR_KEY: ref('CursorKey'),
          ...(domains.includes('tenants') ? tenants : {}),
          ...(domains.includes('projects') && assumeRole ? { CELLO_DYNAMODB_ASSUME_ROLE_ARN: assumeRole } : {})
        }
      },
      Events: { Http: { Type: 'HttpApi' } }
    }
  }
}

/**
 * As in the document: TTL → stream → event bus → the function that deletes. The stream is tried for as long as it keeps a
 * record, since the queue would get only its place, and the row is nowhere else; what can never be handled does not fail.
 */
function expiryResources(names: TableNames) {
  const table = arn('dynamodb', `table/${names.layers}`)
  const failures = { 'Fn::GetAtt': ['ExpiryFailures', 'Arn'] }
  const common = { DOMAINS: 'layers', EVENT_BUS_NAME: ref('EventBusName') }
  return {
    ExpiryFailures: {
      Type: 'AWS::SQS::Queue',
      Properties: { MessageRetentionPeriod: 1209600, SqsManagedSseEnabled: true }
    },
    StreamFunction: {
      Type: 'AWS::Serverless::Function',
      Properties: {
        Handler: 'stream.handler',
        Policies: [
          ...policies(streamStatements(ref('LayersStreamArn'), table, arn('events', 'event-bus/${EventBusName}'))),
          { SQSSendMessagePolicy: { QueueName: { 'Fn::GetAtt': ['ExpiryFailures', 'QueueName'] } } }
        ],
        Environment: { Variables: common },
        Events: {
          Stream: {
            Type: 'DynamoDB',
            Properties: {
              Stream: ref('LayersStreamArn'),
              StartingPosition: 'TRIM_HORIZON',
              BatchSize: 100,
              FunctionResponseTypes: ['ReportBatchItemFailures'],
              FilterCriteria: { Filters: [{ Pattern: REMOVED_BY_TTL }] },
              DestinationConfig: { OnFailure: { Type: 'SQS', Destination: failures } }
            }
          }
        }
      }
    },
    ExpiryFunction: {
      Type: 'AWS::Serverless::Function',
      Properties: {
        Handler: 'expiry.handler',
        Policies: policies(expiryStatements(table, sub('arn:${AWS::Partition}:lambda:*:${AWS::AccountId}:layer:*:*'))),
        Environment: { Variables: common },
        DeadLetterQueue: { Type: 'SQS', TargetArn: failures },
        Events: {
          Removed: {
            Type: 'EventBridgeRule',
            Properties: {
              EventBusName: ref('EventBusName'),
              Pattern: {
                source: [{ 'Fn::Select': [3, { 'Fn::Split': ['/', ref('LayersStreamArn')] }] }],
                'detail-type': ['REMOVE'],
                detail: { pk_type: ['lyr'] }
              }
            }
          }
        }
      }
    }
  }
}

/** Only what TTL removed wakes the function. */
const REMOVED_BY_TTL = JSON.stringify({
  eventName: ['REMOVE'],
  userIdentity: { principalId: ['dynamodb.amazonaws.com'] }
})
