import { type Domain, domains, type TableNames, tables } from './dynamo/tables.js'

/** All of Quintet's settings, read once from the environment, checked and frozen. */
export interface Config {
  host: string
  port: number
  logLevel: string
  /** Where the data is: in this process, on AWS, or behind an endpoint. */
  dynamodb:
    | { kind: 'embedded'; folder?: string; port?: number }
    | { kind: 'aws' }
    | { kind: 'endpoint'; url: string; anonymous: boolean }
  /** How requests reach it: by the official client alone, or past its middleware. */
  dynamodbClient: 'fast' | 'sdk'
  domains: readonly Domain[]
  tables: TableNames
  adminToken?: string
  cursorKey?: string
  metrics: boolean
  corsOrigin: readonly string[]
  /** Requests a minute from one address, if limited. */
  rateLimit?: number
  projects: { assumeRoleArn?: string; stsEndpoint?: string }
}

/** The settings that cannot be used, a line each. */
export class InvalidConfig extends Error {
  readonly lines: string[]

  constructor(lines: string[]) {
    super(lines.join('\n'))
    this.name = 'InvalidConfig'
    this.lines = lines
  }
}

type Env = Record<string, string | undefined>

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|localhost)$/

/** Reads variables and collects what is wrong with them, so that all of it is said at once. */
function reader(env: Env) {
  const lines: string[] = []
  const text = (name: string) => env[name]?.trim() || undefined
  return {
    lines,
    text,
    refuse: (name: string, message: string) => void lines.push(`${name} ${message}`),
    integer(name: string, min: number, max: number): number | undefined {
      const value = text(name)
      if (value === undefined) return undefined
      const number = Number(value)
      if (Number.isInteger(number) && number >= min && number <= max) return number
      lines.push(`${name} must be a whole number from ${min} to ${max}, not "${value}"`)
      return undefined
    },
    oneOf<const T extends string>(name: string, allowed: readonly T[]): T | undefined {
      const value = text(name) as T | undefined
      if (value === undefined || allowed.includes(value)) return value
      lines.push(`${name} must be one of ${allowed.join(', ')}, not "${value}"`)
      return undefined
    },
    matching(name: string, pattern: RegExp, what: string): string | undefined {
      const value = text(name)
      if (value === undefined || pattern.test(value)) return value
      lines.push(`${name} must be ${what}, not "${value}"`)
      return undefined
    },
    list: (name: string) =>
      text(name)
        ?.split(',')
        .map(part => part.trim())
        .filter(Boolean)
  }
}

type Reader = ReturnType<typeof reader>

/** The configuration that the environment gives; throws InvalidConfig with all that is wrong in it. */
export function readConfig(env: Env): Config {
  const read = reader(env)
  const config: Config = {
    host: read.text('HOST') ?? '127.0.0.1',
    port: read.integer('PORT', 0, 65535) ?? 3000,
    logLevel: read.oneOf('LOG_LEVEL', LEVELS) ?? 'info',
    dynamodb: readDynamodb(read),
    dynamodbClient: read.oneOf('DYNAMODB_CLIENT', ['fast', 'sdk']) ?? 'fast',
    domains: readDomains(read),
    tables: readTables(read),
    adminToken: readSecret(read, 'ADMIN_TOKEN'),
    cursorKey: readSecret(read, 'CURSOR_KEY'),
    metrics: read.oneOf('METRICS', ['on', 'off']) !== 'off',
    corsOrigin: readOrigins(read),
    rateLimit: read.integer('RATE_LIMIT', 1, 1_000_000),
    projects: {
      assumeRoleArn: read.matching(
        'CELLO_DYNAMODB_ASSUME_ROLE_ARN',
        /^arn:aws[\w-]*:iam::\d{12}:role\/.+$/,
        'the ARN of an IAM role'
      ),
      stsEndpoint: read.matching('AWS_ENDPOINT_URL_STS', /^https?:\/\/\S+$/, 'a URL')
    }
  }
  if (!config.adminToken && !LOOPBACK.test(config.host)) {
    read.refuse('ADMIN_TOKEN', `must be set to listen on ${config.host}: without it the API is open to everyone`)
  }
  if (config.projects.assumeRoleArn && config.dynamodb.kind === 'embedded') {
    read.refuse('CELLO_DYNAMODB_ASSUME_ROLE_ARN', 'is not for DYNAMODB=embedded, which has no roles')
  }
  if (read.lines.length) throw new InvalidConfig(read.lines)
  return Object.freeze(config)
}

function readDynamodb(read: Reader): Config['dynamodb'] {
  const value = read.text('DYNAMODB') ?? 'embedded'
  const port = read.integer('EMBEDDED_PORT', 0, 65535)
  const data = read.text('EMBEDDED_DATA')
  if (value === 'embedded') {
    return { kind: 'embedded', folder: data === 'memory' ? undefined : (data ?? '.quintet'), port }
  }
  if (port !== undefined) read.refuse('EMBEDDED_PORT', `is only for DYNAMODB=embedded, not for "${value}"`)
  if (data !== undefined) read.refuse('EMBEDDED_DATA', `is only for DYNAMODB=embedded, not for "${value}"`)
  if (value === 'aws') return { kind: 'aws' }
  if (/^https?:\/\/[^\s/]+/.test(value) && URL.canParse(value)) {
    const hasCredentials = ['AWS_ACCESS_KEY_ID', 'AWS_PROFILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'].some(read.text)
    return { kind: 'endpoint', url: value, anonymous: !hasCredentials }
  }
  read.refuse('DYNAMODB', `must be embedded, aws or an endpoint URL, not "${value}"`)
  return { kind: 'aws' }
}

function readDomains(read: Reader): readonly Domain[] {
  const chosen = read.list('DOMAINS')
  if (!chosen) return domains
  const unknown = chosen.filter(name => !domains.includes(name as Domain))
  if (unknown.length) read.refuse('DOMAINS', `must be out of ${domains.join(', ')}, not "${unknown.join(', ')}"`)
  return domains.filter(name => chosen.includes(name))
}

function readTables(read: Reader): TableNames {
  const names = Object.entries(tables).map(([id, { variable, defaultName }]) => [
    id,
    read.matching(variable, /^[\w.-]{3,255}$/, 'a DynamoDB table name') ?? defaultName
  ])
  return Object.fromEntries(names) as TableNames
}

function readSecret(read: Reader, name: string): string | undefined {
  const value = read.text(name)
  if (value !== undefined && /[^\x21-\x7e]/.test(value)) read.refuse(name, 'may hold visible ASCII characters only')
  return value
}

function readOrigins(read: Reader): readonly string[] {
  const origins = read.list('CORS_ORIGIN') ?? []
  const wrong = origins.filter(origin => origin !== '*' && !/^https?:\/\/[^\s/]+$/.test(origin))
  if (wrong.length)
    read.refuse('CORS_ORIGIN', `must list origins such as https://app.example.com, not "${wrong.join(', ')}"`)
  return origins
}
