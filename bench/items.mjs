// What every server finds in its table: a project with 20 tokens, with the marks that its library looks for.
export const PROJECT = 'benchproj'
export const REPOSITORY = 'https://github.com/example/bench'

const marks = {
  electrodb: kind => ({ __edb_e__: { S: kind }, __edb_v__: { S: '1' }, project: { S: PROJECT } }),
  onetable: kind => ({ _type: { S: kind }, project: { S: PROJECT } }),
  toolbox: kind => ({ _et: { S: kind }, project: { S: PROJECT } })
}

export const tableOf = variant => `bench-${variant}`

const variantOf = table => table.replace('bench-', '')

export function projectItem(table) {
  const pk = `PROJECT#${PROJECT}`
  return {
    pk: { S: pk },
    sk: { S: 'METADATA' },
    repository: { S: REPOSITORY },
    ...marks[variantOf(table)]?.('Project')
  }
}

export function tokenItems(table, count = 20) {
  return Array.from({ length: count }, (_, i) => ({
    pk: { S: `PROJECT#${PROJECT}` },
    sk: { S: `TOKEN#tkn-${String(i).padStart(12, '0')}` },
    created_at: { S: '2026-01-01T00:00:00.000Z' },
    expires_at: { S: '2099-01-01T00:00:00.000Z' },
    hashed_token: { S: 'f'.repeat(64) },
    ...marks[variantOf(table)]?.('Token'),
    ...(marks[variantOf(table)] ? { tokenId: { S: `tkn-${String(i).padStart(12, '0')}` } } : {})
  }))
}

/** For servers that resolve URLs: the table of aliases, and what it holds for docs.example.com/v1. */
export const ALIASES = 'bench-aliases'

export const aliasItem = {
  PK: { S: 'ROUTES' },
  SK: { S: 'com.example.docs#/v1' },
  GSI1PK: { S: 'D#dep-1' },
  GSI1SK: { S: '2026-01-01T00:00:00.000Z#R#com.example.docs#/v1' },
  HostnameRev: { S: 'com.example.docs' },
  BasePath: { S: '/v1' },
  DeploymentId: { S: 'dep-1' },
  CreateDate: { S: '2026-01-01T00:00:00.000Z' },
  DeploymentAlias: { BOOL: false },
  ItemVersion: { N: '1' },
  Routes: { S: '{"/":"lambda"}' },
  LambdaRoutes: { S: '{"lambda":"/"}' },
  Prerenders: { S: '{}' }
}

/** The keys under which an alias can be that serves /v1/x. */
export const aliasKeys = ['/', '/v1', '/v1/x'].flatMap(path =>
  ['ROUTES', 'CONFIG_NEXTJS'].map(PK => ({ PK: { S: PK }, SK: { S: `com.example.docs#${path}` } }))
)

export const presentAlias = item => ({
  hostname: item.HostnameRev.S.split('.').reverse().join('.'),
  basePath: item.BasePath.S,
  deploymentId: item.DeploymentId.S,
  routes: JSON.parse(item.Routes.S),
  lambdaRoutes: JSON.parse(item.LambdaRoutes.S),
  prerenders: JSON.parse(item.Prerenders.S)
})
