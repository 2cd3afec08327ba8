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

/** An alias and its deployment, for servers that resolve URLs. */
export const aliasItems = () => []
