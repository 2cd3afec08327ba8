import { type Domain, type TableId, type TableNames, tablesOf } from '../dynamo/tables.js'
import { access } from './access.js'

/** An ARN, or the CloudFormation function that makes one. */
export type Arn = string | { 'Fn::Sub': string } | { Ref: string }

export interface Statement {
  Sid: string
  Effect: 'Allow'
  Action: string[]
  Resource: Arn[]
}

/** Where the resources are; `*` where that is not known. */
export interface PolicyScope {
  partition: string
  region: string
  account: string
  /** The workflows of the tenants domain. */
  stateMachines: readonly Arn[]
  /** The role that the projects table is reached with, if any. */
  assumeRole?: string
  /** The bus that removals of layers are told on: its name, or its ARN. */
  eventBus?: string
}

export const ANYWHERE: PolicyScope = {
  partition: 'aws',
  region: '*',
  account: '*',
  stateMachines: ['arn:aws:states:*:*:stateMachine:*']
}

type ArnOf = (service: string, resource: string) => Arn

/** What the API needs for the chosen domains, and nothing else. */
export function apiStatements(
  domains: readonly Domain[],
  names: TableNames,
  arn: ArnOf,
  { stateMachines, assumeRole }: Pick<PolicyScope, 'stateMachines' | 'assumeRole'>
): Statement[] {
  const statements: Statement[] = []
  for (const [id, { domain }] of tablesOf(domains)) {
    if (domain === 'projects' && assumeRole) {
      statements.push(allow('AssumeProjectsRole', ['sts:AssumeRole'], [assumeRole]))
    } else statements.push(...tableStatements(id, names[id], arn))
  }
  if (domains.includes('tenants')) {
    statements.push(allow('StartTenantWorkflows', ['states:StartExecution'], [...stateMachines]))
  }
  return statements
}

function tableStatements(id: TableId, name: string, arn: ArnOf): Statement[] {
  const { actions, indexes } = access[id]
  const sid = id[0]?.toUpperCase() + id.slice(1)
  const table = allow(
    `${sid}Table`,
    ['DescribeTable', ...actions].map(action => `dynamodb:${action}`),
    [arn('dynamodb', `table/${name}`)]
  )
  if (indexes.length === 0) return [table]
  const resources = indexes.map(index => arn('dynamodb', `table/${name}/index/${index}`))
  return [table, allow(`${sid}Indexes`, ['dynamodb:Query'], resources)]
}

/** From the stream of the layers table to the event bus. A row too large for an event is put back at once. */
export function streamStatements(stream: Arn, table: Arn, bus: Arn): Statement[] {
  return [
    allow('ReadStream', ['DescribeStream', 'GetRecords', 'GetShardIterator'].map(dynamodb), [stream]),
    allow('FindStream', [dynamodb('ListStreams')], ['*']),
    allow('PutBackLayer', [dynamodb('PutItem')], [table]),
    allow('TellOfRemovals', ['events:PutEvents'], [bus])
  ]
}

/** From the event bus to the layer's end: in any region, since that is where layers are. */
export function expiryStatements(table: Arn, layerVersions: Arn): Statement[] {
  return [
    allow('PutBackLayer', [dynamodb('PutItem')], [table]),
    allow('DeleteLayerVersions', ['lambda:DeleteLayerVersion'], [layerVersions])
  ]
}

const dynamodb = (action: string) => `dynamodb:${action}`

function allow(Sid: string, Action: string[], Resource: Arn[]): Statement {
  return { Sid, Effect: 'Allow', Action, Resource }
}

/** One IAM policy for a process that serves the chosen domains, and for the layers' two functions beside it. */
export function policyDocument(domains: readonly Domain[], names: TableNames, scope = ANYWHERE) {
  const { partition, region, account } = scope
  const arn = (service: string, resource: string) => `arn:${partition}:${service}:${region}:${account}:${resource}`
  const layers = arn('dynamodb', `table/${names.layers}`)
  const { eventBus = 'default' } = scope
  const bus = eventBus.startsWith('arn:') ? eventBus : arn('events', `event-bus/${eventBus}`)
  const layerVersions = `arn:${partition}:lambda:*:${account}:layer:*:*`
  const behindStream = [
    ...streamStatements(`${layers}/stream/*`, layers, bus),
    ...expiryStatements(layers, layerVersions)
  ]
  const unique = new Map(behindStream.map(statement => [statement.Sid, statement]))
  return {
    Version: '2012-10-17',
    Statement: [...apiStatements(domains, names, arn, scope), ...(domains.includes('layers') ? unique.values() : [])]
  }
}
