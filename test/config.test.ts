import t from 'tap'
import { InvalidConfig, readConfig } from '../src/config.js'
import { openDatabase } from '../src/dynamo/database.js'

function refused(env: Record<string, string>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    return error instanceof InvalidConfig ? error.lines : [`not refused but broken: ${error}`]
  }
}

t.test('nothing needs to be set', async t => {
  t.match(readConfig({}), {
    host: '127.0.0.1',
    port: 3000,
    logLevel: 'info',
    dynamodbClient: 'fast',
    dynamodb: { kind: 'embedded', folder: '.quintet' },
    domains: ['hosting', 'layers', 'tenants', 'projects', 'realtime'],
    tables: { deployments: 'DeploymentTable', aliases: 'AliasTable', projects: 'cello', realtime: 'compose' }
  })
  t.equal(readConfig({ EMBEDDED_DATA: 'memory' }).dynamodb.kind, 'embedded')
  t.match(readConfig({ DYNAMODB: 'http://localhost:8000', DOMAINS: 'projects' }).dynamodb, {
    url: 'http://localhost:8000',
    anonymous: true
  })
  for (const name of ['AWS_PROFILE', 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', 'AWS_CONTAINER_CREDENTIALS_FULL_URI']) {
    const env = { DYNAMODB: 'http://localhost:8000', DOMAINS: 'projects', [name]: 'x' }
    t.match(readConfig(env).dynamodb, { anonymous: false }, `${name} says where credentials are`)
  }
})

t.test('a wrong value is refused with a line that names its variable', async t => {
  const wrong: [object, RegExp][] = [
    [{ PORT: 'x' }, /^PORT must be a whole number from 0 to 65535, not "x"$/],
    ...['70000', '-1', '1.5', '0x10', '1e3', '3000x', '٣'].map(PORT => [{ PORT }, /^PORT must be/] as [object, RegExp]),
    ...['not a host', '127.0.0.999', '[::1]', 'http://x', '0.0.0.0:80', '-x', '127.1', '1.2.3'].map(
      HOST => [{ HOST }, /^HOST must be an IP address or the name of a host, not/] as [object, RegExp]
    ),
    [{ HOST: '::' }, /^ADMIN_TOKEN must be set to listen on ::/],
    [{ HOST: 'example.com' }, /^ADMIN_TOKEN must be set to listen on example\.com/],
    [{ HOST: '127.0.0.1.example.com' }, /^ADMIN_TOKEN must be set to listen on/],
    [{ HOST: 'localhost.example.com' }, /^ADMIN_TOKEN must be set to listen on/],
    [{ DOMAINS: ',' }, /^DOMAINS must name at least one of/],
    [{ EMBEDDED_PORT: 'x' }, /^EMBEDDED_PORT must be/],
    [{ EMBEDDED_PORT: '3000' }, /^EMBEDDED_PORT must not be 3000, which is PORT/],
    [{ DYNAMODB: 'http://me:secret@localhost:8000', DOMAINS: 'projects' }, /^DYNAMODB must hold no user or password$/],
    [{ CURSOR_KEY: 'a b' }, /^CURSOR_KEY may hold visible ASCII characters only$/],
    [{ LAYERS_TABLE: 'ab' }, /^LAYERS_TABLE must be a DynamoDB table name/],
    [{ REALTIME_TABLE: 'a/b' }, /^REALTIME_TABLE must be/],
    [{ TENANTS_TABLE: 'x'.repeat(256) }, /^TENANTS_TABLE must be/],
    [{ ALIAS_TABLE: 'é12' }, /^ALIAS_TABLE must be/],
    [{ DEPLOYMENT_TABLE: 'a b c' }, /^DEPLOYMENT_TABLE must be/],
    [{ PROJECTS_STORE: 'pg' }, /^PROJECTS_STORE must be one of/],
    [{ LAYER_EXPIRY_DAYS: 'x' }, /^LAYER_EXPIRY_DAYS must be/],
    [{ LIVE_TTL: '1' }, /^LIVE_TTL must be/],
    [{ REDIS_URL: 'http://x' }, /^REDIS_URL must be/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of /],
    [{ DYNAMODB: 'local' }, /^DYNAMODB must be embedded, aws or an endpoint URL, not "local"$/],
    [{ DYNAMODB_CLIENT: 'slow' }, /^DYNAMODB_CLIENT must be one of fast, sdk/],
    [{ DOMAINS: ' , ' }, /^DOMAINS must name at least one of .*$/],
    [{ DOMAINS: 'projects,nosuch' }, /^DOMAINS must be out of .*, not "nosuch"$/],
    [{ DYNAMODB: 'aws', EMBEDDED_PORT: '8000', DOMAINS: 'projects' }, /^EMBEDDED_PORT is only for DYNAMODB=embedded/],
    [{ DYNAMODB: 'aws', EMBEDDED_DATA: 'x', DOMAINS: 'projects' }, /^EMBEDDED_DATA is only for DYNAMODB=embedded/],
    [{ PROJECTS_TABLE: 'a b' }, /^PROJECTS_TABLE must be a DynamoDB table name/],
    [{ HOST: '0.0.0.0' }, /^ADMIN_TOKEN must be set to listen on 0\.0\.0\.0/],
    [{ ADMIN_TOKEN: 'ä' }, /^ADMIN_TOKEN may hold visible ASCII characters only$/],
    [{ CORS_ORIGIN: 'example.com' }, /^CORS_ORIGIN must list origins/],
    [{ RATE_LIMIT: '-1' }, /^RATE_LIMIT /],
    [{ METRICS: 'maybe' }, /^METRICS must be one of on, off/],
    [
      { CELLO_DYNAMODB_ASSUME_ROLE_ARN: 'x', DYNAMODB: 'aws', DOMAINS: 'projects' },
      /^CELLO_DYNAMODB_ASSUME_ROLE_ARN must be the ARN/
    ],
    [
      { CELLO_DYNAMODB_ASSUME_ROLE_ARN: 'arn:aws:iam::123456789012:role/x' },
      /^CELLO_DYNAMODB_ASSUME_ROLE_ARN is not for DYNAMODB=embedded/
    ]
  ]
  for (const [env, line] of wrong) {
    const lines = refused(env as Record<string, string>)
    t.equal(lines.length, 1, JSON.stringify(env))
    t.match(lines[0], line)
  }
  t.equal(refused({ PORT: 'x', LOG_LEVEL: 'loud', HOST: '0.0.0.0' }).length, 3, 'all of them at once')
  t.strictSame(refused({ HOST: '0.0.0.0', ADMIN_TOKEN: 'secret' }), [])
  for (const HOST of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LOCALHOST'])
    t.strictSame(refused({ HOST }), [], HOST)
  t.strictSame(refused({ PORT: '0', EMBEDDED_PORT: '0' }), [])
})

t.test('an endpoint that is to be asked with credentials needs a region, like AWS', async t => {
  Object.assign(process.env, { AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' })
  for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION']) delete process.env[name]
  const config = readConfig({ DYNAMODB: 'http://127.0.0.1:1', DOMAINS: 'projects', AWS_ACCESS_KEY_ID: 'x' })
  await t.rejects(
    openDatabase(config, () => {}),
    {
      message: 'DYNAMODB=http://127.0.0.1:1 cannot be used: no region is set: set AWS_REGION'
    }
  )
})
