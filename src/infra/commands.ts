import { readConfig } from '../config.js'
import { tables } from '../dynamo/tables.js'
import { parseWords, WrongUsage } from '../usage.js'
import { policyJson, serverlessYaml, tablesYaml } from './files.js'

type Env = Record<string, string | undefined>

export const INFRA_USAGE = `  quintet tables cloudformation [--domains a,b]   prints the CloudFormation template of the tables
  quintet tables serverless [--domains a,b]       prints the SAM template of the Lambda functions
  quintet tables policy [--domains a,b] [--region r] [--account n]
                          prints the IAM policy that they need`

/** Commands that print what is generated from the declarations; they ask no database. */
export const infraCommands: Record<string, (words: string[], env: Env) => number> = {
  cloudformation: (words, env) => print(template(words, env), ({ domains, names }) => tablesYaml(domains, names)),
  // A template that is printed is most likely kept where the command is run.
  serverless: (words, env) =>
    print(template(words, env), ({ domains, names, scope }) => serverlessYaml(domains, names, 'dist/lambda', scope)),
  policy: (words, env) => print(choose(words, env), ({ domains, names, scope }) => policyJson(domains, names, scope))
}

type Choice = ReturnType<typeof choose>

function print(choice: Choice, text: (choice: Choice) => string): number {
  process.stdout.write(text(choice))
  return 0
}

/** What is chosen for a template, which gets its region and account by being deployed there. */
function template(words: string[], env: Env): Choice {
  const choice = choose(words, env)
  const { region, account } = choice.scope
  if (region !== '*' || account !== '*') throw new WrongUsage('--region and --account are for a policy alone')
  return choice
}

/** The domains, names and places that the words and the environment choose. */
function choose(words: string[], env: Env) {
  const option = { type: 'string' } as const
  const { values } = parseWords(words, { domains: option, region: option, account: option })
  const chosen = Object.fromEntries(VARIABLES.map(name => [name, env[name]]))
  const DOMAINS = values.domains === undefined ? env.DOMAINS : values.domains || ','
  const config = readConfig({ ...chosen, DOMAINS, DYNAMODB: 'aws' }, 'tables')
  const region = matching('--region', values.region, /^[a-z]{2}(-[a-z]+)+-\d{1,2}$/, 'a region such as eu-west-1')
  const account = matching('--account', values.account, /^\d{12}$/, 'the 12 digits of an account')
  const partition = partitionOf(region)
  const { CREATE, UPDATE, DELETE } = config.tenants.stepFunctions?.stateMachines ?? {}
  const scope = {
    partition,
    region: region ?? '*',
    account: account ?? '*',
    stateMachines:
      CREATE && UPDATE && DELETE ? [CREATE, UPDATE, DELETE] : [`arn:${partition}:states:*:*:stateMachine:*`],
    assumeRole: config.projects.assumeRoleArn,
    eventBus: config.layers.eventBus
  }
  return { domains: config.domains, names: config.tables, scope }
}

/** The server's variables that say what is used. */
const VARIABLES = [
  ...Object.values(tables).map(table => table.variable),
  ...['PROVISION_STATE_MACHINE_ARN', 'UPDATE_STATE_MACHINE_ARN', 'DELETE_STATE_MACHINE_ARN'],
  ...['CELLO_DYNAMODB_ASSUME_ROLE_ARN', 'EVENT_BUS_NAME']
]

function matching(name: string, value: string | undefined, pattern: RegExp, what: string): string | undefined {
  if (value === undefined || pattern.test(value)) return value
  throw new WrongUsage(`${name} must be ${what}, not "${value}"`)
}

/** China and the US government have their own. */
function partitionOf(region = ''): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'
}
