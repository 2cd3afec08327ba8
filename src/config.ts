import { isIP } from 'node:net'
import { type Domain, domains, type TableNames, tables } from './dynamo/tables.js'
import { urlProblem } from './postgres/url.js'
import type { TenantSettings } from './services/tenants.js'

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
  /** After how many days a deprecated layer expires, and the bus that hears of it on AWS. */
  layers: { expiryDays: number; eventBus: string }
  tenants: TenantSettings
  projects: {
    assumeRoleArn?: string
    stsEndpoint?: string
    /** Who answers for projects and tokens, on the way from PostgreSQL to DynamoDB. */
    store: ProjectsStore
    postgresUrl?: string
    /** The password for PostgreSQL where the URL has none. */
    postgresPassword?: string
  }
  realtime: {
    /** The Redis that carries live values between nodes. */
    redisUrl?: string
    /** How long a live connection outlives its server, in seconds. */
    liveTtl: number
    /** Messages a second that one socket may send. */
    liveRate: number
    /** Subscriptions that one live connection may have. */
    liveSubscriptions: number
  }
}

export type ProjectsStore = (typeof STORES)[number]

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

const STORES = ['postgres+shadow', 'postgres+compare', 'dynamodb'] as const
const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const STATE_MACHINES = ['PROVISION_STATE_MACHINE_ARN', 'UPDATE_STATE_MACHINE_ARN', 'DELETE_STATE_MACHINE_ARN'] as const
const STATE_MACHINE_ARN = /^arn:aws[\w-]*:states:[\w-]+:\d{12}:stateMachine:[^\s:]{1,80}$/
const VERSION = /^(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}$/
const HOST_NAME = /^(?=.*[a-z])[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i
const LOOPBACK = /^(127(\.\d+){3}|::1|localhost)$/i

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
      const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
      if (number >= min && number <= max) return number
      lines.push(`${name} must be a whole number from ${min} to ${max}, not "${value}"`)
      return undefined
    },
    /** A number that may have decimals, for which `integer` is too coarse. */
    number(name: string, min: number, max: number): number | undefined {
      const value = text(name)
      if (value === undefined) return undefined
      const number = Number(value)
      if (/^\d+(\.\d+)?$/.test(value) && number >= min && number <= max) return number
      lines.push(`${name} must be a number from ${min} to ${max}, not "${value}"`)
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

/**
 * The configuration that the environment gives; throws InvalidConfig with all that is wrong in it. What only looks
 * after tables needs less of it than what serves.
 */
export function readConfig(env: Env, purpose: 'serve' | 'tables' = 'serve'): Config {
  const read = reader(env)
  const dynamodb = readDynamodb(read)
  const chosen = readDomains(read)
  const config: Config = {
    host: readHost(read),
    port: read.integer('PORT', 0, 65535) ?? 3000,
    logLevel: read.oneOf('LOG_LEVEL', LEVELS) ?? 'info',
    dynamodb,
    dynamodbClient: read.oneOf('DYNAMODB_CLIENT', ['fast', 'sdk']) ?? 'fast',
    domains: chosen,
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
      stsEndpoint: read.matching('AWS_ENDPOINT_URL_STS', /^https?:\/\/\S+$/, 'a URL'),
      store: read.oneOf('PROJECTS_STORE', STORES) ?? 'dynamodb',
      postgresUrl: readPostgresUrl(read),
      postgresPassword: env.PGPASSWORD
    },
    layers: {
      expiryDays: read.number('LAYER_EXPIRY_DAYS', 0.00001, 36_500) ?? 365,
      eventBus: read.matching('EVENT_BUS_NAME', /^[\w./:-]{1,1600}$/, 'the name or ARN of an event bus') ?? 'default'
    },
    tenants: readTenants(read, purpose === 'serve' && chosen.includes('tenants') ? dynamodb.kind : 'embedded'),
    realtime: {
      redisUrl: readRedisUrl(read),
      liveTtl: read.integer('LIVE_TTL', 3, 86_400) ?? 120,
      liveRate: read.integer('LIVE_RATE', 1, 100_000) ?? 50,
      liveSubscriptions: read.integer('LIVE_SUBSCRIPTIONS', 1, 100_000) ?? 1000
    }
  }
  if (!config.adminToken && !LOOPBACK.test(config.host)) {
    read.refuse('ADMIN_TOKEN', `must be set to listen on ${config.host}: without it the API is open to everyone`)
  }
  if (config.port !== 0 && dynamodb.kind === 'embedded' && dynamodb.port === config.port) {
    read.refuse('EMBEDDED_PORT', `must not be ${config.port}, which is PORT: the API is there`)
  }
  if (config.projects.assumeRoleArn && config.dynamodb.kind === 'embedded') {
    read.refuse('CELLO_DYNAMODB_ASSUME_ROLE_ARN', 'is not for DYNAMODB=embedded, which has no roles')
  }
  if (config.projects.store !== 'dynamodb' && !config.projects.postgresUrl) {
    read.refuse('PROJECTS_POSTGRES_URL', `must be set for PROJECTS_STORE=${config.projects.store}`)
  }
  if (read.lines.length) throw new InvalidConfig(read.lines)
  return Object.freeze(config)
}

function readHost(read: Reader): string {
  const host = read.text('HOST') ?? '127.0.0.1'
  if (isIP(host) || HOST_NAME.test(host)) return host
  read.refuse('HOST', `must be an IP address or the name of a host, not "${host}"`)
  return '127.0.0.1'
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
    // It is shown at start, and DynamoDB's requests are signed.
    if (new URL(value).username || new URL(value).password) read.refuse('DYNAMODB', 'must hold no user or password')
    return { kind: 'endpoint', url: value, anonymous: !hasCredentials(read) }
  }
  read.refuse('DYNAMODB', `must be embedded, aws or an endpoint URL, not "${value}"`)
  return { kind: 'embedded' }
}

/** Where the environment says that the standard chain finds credentials: keys, a profile, the role of a pod or a task. */
const CREDENTIALS = [
  'AWS_ACCESS_KEY_ID',
  'AWS_PROFILE',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI'
]
const hasCredentials = (read: Reader) => CREDENTIALS.some(read.text)

/** Away from the laptop the version must be said; on AWS the workflows too, since no local provisioner stands in there. */
function readTenants(read: Reader, kind: Config['dynamodb']['kind']): TenantSettings {
  const version = read.matching('TENANT_STACK_VERSION', VERSION, 'major.minor.patch')
  const operationTimeout = read.integer('TENANT_OPERATION_TIMEOUT', 1, 31_536_000) ?? 3600
  const endpoint = read.matching('AWS_ENDPOINT_URL_SFN', /^https?:\/\/\S+$/, 'a URL')
  const given = STATE_MACHINES.map(name => read.matching(name, STATE_MACHINE_ARN, 'the ARN of a state machine'))
  const missing = STATE_MACHINES.filter(name => read.text(name) === undefined)
  if (kind !== 'embedded' && read.text('TENANT_STACK_VERSION') === undefined) {
    read.refuse('TENANT_STACK_VERSION', 'must be set to serve tenants: the version of the stack that they get')
  }
  if (kind === 'aws' || missing.length < STATE_MACHINES.length) {
    const why = kind === 'aws' ? 'to serve tenants: there is no local provisioner on AWS' : 'together with the others'
    for (const name of missing) read.refuse(name, `must be set ${why}`)
  }
  const [CREATE, UPDATE, DELETE] = given
  return {
    version: version ?? '0.1.0',
    operationTimeout,
    ...(CREATE && UPDATE && DELETE
      ? {
          stepFunctions: {
            stateMachines: { CREATE, UPDATE, DELETE },
            endpoint,
            anonymous: endpoint !== undefined && !hasCredentials(read)
          }
        }
      : {})
  }
}

function readDomains(read: Reader): readonly Domain[] {
  const chosen = read.list('DOMAINS')
  if (!chosen) return domains
  const unknown = chosen.filter(name => !domains.includes(name as Domain))
  if (chosen.length === 0) read.refuse('DOMAINS', `must name at least one of ${domains.join(', ')}`)
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

function readPostgresUrl(read: Reader): string | undefined {
  const url = read.text('PROJECTS_POSTGRES_URL')
  const problem = url && urlProblem(url)
  if (problem) read.refuse('PROJECTS_POSTGRES_URL', problem)
  return url
}

/** The URL may hold a password, so it is not repeated. */
function readRedisUrl(read: Reader): string | undefined {
  const value = read.text('REDIS_URL')
  if (value !== undefined && !(/^rediss?:\/\/[^\s/]/.test(value) && URL.canParse(value)))
    read.refuse('REDIS_URL', 'must be a redis:// or rediss:// URL')
  return value
}

function readOrigins(read: Reader): readonly string[] {
  const origins = read.list('CORS_ORIGIN') ?? []
  const wrong = origins.filter(origin => origin !== '*' && !/^https?:\/\/[^\s/]+$/.test(origin))
  if (wrong.length)
    read.refuse('CORS_ORIGIN', `must list origins such as https://app.example.com, not "${wrong.join(', ')}"`)
  return origins
}
