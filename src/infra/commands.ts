import { parseArgs } from 'node:util'
import { readConfig } from '../config.js'
import { tables } from '../dynamo/tables.js'
import { policyJson, serverlessYaml, tablesYaml } from './files.js'
import { ANYWHERE } from './policy.js'

type Env = Record<string, string | undefined>

export const INFRA_USAGE = `  quintet tables cloudformation [--domains a,b]   prints the CloudFormation template of the tables
  quintet tables serverless [--domains a,b]       prints the SAM template of the Lambda functions
  quintet tables policy [--domains a,b] [--region r] [--account n]
                          prints the IAM policy that they need`

/** Commands that print what is generated from the declarations; they ask no database. */
export const infraCommands: Record<string, (words: string[], env: Env) => number> = {
  cloudformation: (words, env) => print(words, env, ({ domains, names }) => tablesYaml(domains, names)),
  serverless: (words, env) => print(words, env, ({ domains, names }) => serverlessYaml(domains, names)),
  policy: (words, env) => print(words, env, ({ domains, names, scope }) => policyJson(domains, names, scope))
}

type Choice = ReturnType<typeof choose>

function print(words: string[], env: Env, text: (choice: Choice) => string): number {
  process.stdout.write(text(choose(words, env)))
  return 0
}

/** The domains, names and places that the words and the environment choose. */
function choose(words: string[], env: Env) {
  const option = { type: 'string' } as const
  const { values } = parseArgs({ args: words, options: { domains: option, region: option, account: option } })
  const variables = ['DOMAINS', ...Object.values(tables).map(table => table.variable)]
  const chosen = Object.fromEntries(variables.map(name => [name, env[name]]))
  const config = readConfig({ ...chosen, ...(values.domains ? { DOMAINS: values.domains } : {}) })
  const machines = ['PROVISION_STATE_MACHINE_ARN', 'UPDATE_STATE_MACHINE_ARN', 'DELETE_STATE_MACHINE_ARN']
    .map(name => env[name])
    .filter(value => value !== undefined)
  const scope = {
    ...ANYWHERE,
    region: values.region ?? ANYWHERE.region,
    account: values.account ?? ANYWHERE.account,
    stateMachines: machines.length ? machines : ANYWHERE.stateMachines,
    assumeRole: env.CELLO_DYNAMODB_ASSUME_ROLE_ARN
  }
  return { domains: config.domains, names: config.tables, scope }
}
