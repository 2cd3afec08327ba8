import { stringify } from 'yaml'
import type { Domain, TableNames } from '../dynamo/tables.js'
import { tablesTemplate } from './cloudformation.js'
import { type PolicyScope, policyDocument } from './policy.js'
import { type Settings, serverlessTemplate } from './serverless.js'

/** What is generated from the declarations, as text. */

/** Read by parsers of YAML 1.1, for which 2012-10-17 is a date unless it is quoted. */
const yaml = (template: object) =>
  stringify(template, { aliasDuplicateObjects: false, lineWidth: 0, schema: 'yaml-1.1' })

export const tablesYaml = (domains: readonly Domain[], names: TableNames) => yaml(tablesTemplate(domains, names))

export const serverlessYaml = (domains: readonly Domain[], names: TableNames, code: string, settings?: Settings) =>
  yaml(serverlessTemplate(domains, names, code, settings))

export const policyJson = (domains: readonly Domain[], names: TableNames, scope?: PolicyScope) =>
  `${JSON.stringify(policyDocument(domains, names, scope), null, 2)}\n`
