import type { Dynamo } from '../dynamo/client.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import type { Item } from '../dynamo/values.js'
import { keyOf, type TenantEntities } from '../entities/tenants.js'
import { Problem } from '../problems.js'
import type { ServiceContext } from './context.js'
import { presentAudit } from './tenant-audit.js'
import { presentTenant, type StoredTenant } from './tenant-metadata.js'
import type { StoredAudit, tenantOperations } from './tenant-operations.js'
import { isOlder } from './versions.js'

/** How many items of the table one page looks at. */
const LOOKED_AT = 1000
const AT_ONCE = 8

/**
 * The actions on all tenants. The table has no index over them, so these are scans: a walk over all pages reads the
 * whole table once, audit records included.
 */
export function fleetActions(
  dynamo: Dynamo,
  { entities: { tenant } }: TenantEntities,
  { cursors }: ServiceContext,
  current: string,
  operations: ReturnType<typeof tenantOperations>
) {
  /** A page of tenants out of one scan; it goes on after the last one taken. */
  function scanTenants(list: string[], request: PageRequest, isWanted: (item: StoredTenant) => boolean) {
    return readPage(cursors, list, request, async ({ limit, cursor }) => {
      const scan = tenant.scan.params({}) as Item
      const page = await dynamo.request('Scan', {
        ...scan,
        Limit: LOOKED_AT,
        ExclusiveStartKey: cursor === null ? undefined : JSON.parse(cursor)
      })
      const found = (page.Items as Item[])
        .map(item => ({ key: keyOf(item), data: parsed(item) }))
        .filter(({ data }) => isWanted(data))
      const taken = found.slice(0, limit)
      const next = found.length > limit ? taken.at(-1)?.key : page.LastEvaluatedKey
      return { data: taken.map(({ data }) => data), cursor: next === undefined ? null : JSON.stringify(next) }
    })
  }

  const parsed = (item: Item) => tenant.parse({ Item: item as never }).data as StoredTenant
  const isOutdated = ({ version }: StoredTenant) => isOlder(version, current)

  async function listTenants({ outdated, ...request }: PageRequest & { outdated?: boolean }) {
    const list = ['tenants', String(outdated)]
    const page = await scanTenants(list, request, item => outdated === undefined || isOutdated(item) === outdated)
    return { ...page, items: page.items.map(presentTenant) }
  }

  /** Starts an UPDATE for some outdated tenants, each by one caller only; where one has failed it is left alone. */
  async function upgradeTenants(request: PageRequest) {
    const page = await scanTenants(['upgrade'], request, isOutdated)
    const items: Awaited<ReturnType<typeof upgrade>>[] = []
    for (let i = 0; i < page.items.length; i += AT_ONCE) {
      items.push(...(await Promise.all(page.items.slice(i, i + AT_ONCE).map(upgrade))))
    }
    return { items, cursor: page.cursor }
  }

  async function upgrade({ tenantId }: StoredTenant) {
    let { record, ours } = await operations.start(tenantId, 'UPDATE')
    const mayStart = !ours && record && record.status !== 'Failure' && operations.isClaimable(record)
    if (mayStart) ({ record, ours } = await operations.start(tenantId, 'UPDATE', record))
    if (!record) throw new Problem('concurrent-changes')
    return { tenantId, started: ours && record.status === 'Started', audit: presentAudit(record as StoredAudit) }
  }

  return { listTenants, upgradeTenants }
}
