import { setTimeout as sleep } from 'node:timers/promises'
import { writeBatches } from '../dynamo/batch.js'
import type { Dynamo } from '../dynamo/client.js'
import { unchanged } from '../dynamo/conditions.js'
import type { Item } from '../dynamo/values.js'
import { isMetadata, type ProjectEntities } from '../entities/projects.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import type { StoredProject } from './projects.js'
import { projectNotFound } from './targets.js'

/** How long a deleter may take between two signs of life before another takes over. */
const LEASE_MS = 3000
const POLL_MS = 100

/**
 * Deletes a project and its children. METADATA is marked first, which hides the project, ends its tokens and refuses
 * new children; then the children go, and METADATA last. After a crash anywhere the next call goes on.
 *
 * The mark is a lease, because a batch cannot carry a condition: a second deleter waits, so that none can be left
 * deleting when the name is taken anew.
 */
export function projectDeletion(
  dynamo: Dynamo,
  { entities: { project }, collections }: ProjectEntities,
  { now, randomBytes }: ServiceContext,
  presentProject: (item: StoredProject) => unknown
) {
  async function deleteProject(name: string, { ifMatch }: Preconditions = {}): Promise<void> {
    const seen = ifMatch === undefined ? undefined : await findMatching(name, ifMatch)
    const deleter = randomBytes(12).toString('hex')
    while ((await take(name, deleter, seen)) === 'taken') {
      await deleteChildren(name, deleter)
      const { rejected } = await project
        .remove({ project: name })
        .where((attr, op) => op.eq(attr.deleter, deleter))
        .go({ returnOnConditionCheckFailure: true })
      if (!rejected) return
    }
  }

  /** The project, marked or not: the call that marked it may break off, and be repeated with the tag it had. */
  async function findMatching(name: string, ifMatch: string): Promise<StoredProject> {
    const { data } = await project.get({ project: name }).go({ consistent: true })
    if (!data) throw projectNotFound(name)
    assertMatch(ifMatch, presentProject(data))
    return data
  }

  /** Marks the project as ours to delete; waits while it is another's. */
  async function take(name: string, deleter: string, seen?: StoredProject): Promise<'taken' | 'gone'> {
    for (;;) {
      const { rejected, data } = await project
        .patch({ project: name })
        .set({ deleter, deleting: now() + LEASE_MS })
        .where((attr, op) => {
          const isFree = `NOT ${op.gte(attr.deleting, now())}`
          return seen ? `${isFree} AND ${unchanged(['repository'], { ...seen })(attr, op)}` : isFree
        })
        .go({ returnOnConditionCheckFailure: 'all_old' })
      if (!rejected) return 'taken'
      if (!data) {
        if (!(await hasChildren(name))) return 'gone'
        if (await markOrphans(name, deleter)) return 'taken'
      } else {
        if (seen && (data as StoredProject).deleting === undefined) throw new Problem('precondition-failed')
        await sleep(POLL_MS)
      }
    }
  }

  /** Other programs delete METADATA first: what they leave when they break off is deleted under a mark of our own. */
  async function markOrphans(name: string, deleter: string): Promise<boolean> {
    const mark = { project: name, repository: '', deleter, deleting: now() + LEASE_MS }
    const { rejected } = await project.create(mark).go({ returnOnConditionCheckFailure: 'all_old' })
    return !rejected
  }

  const partitionOf = (name: string) => ({
    ...(collections.overview({ project: name }).params() as Item),
    ConsistentRead: true,
    ProjectionExpression: 'pk, sk'
  })

  async function hasChildren(name: string): Promise<boolean> {
    const { Items } = await dynamo.request('Query', { ...partitionOf(name), Limit: 1 })
    return (Items as unknown[]).length > 0
  }

  async function deleteChildren(name: string, deleter: string): Promise<void> {
    const query: Item = partitionOf(name)
    await writeBatches(dynamo, String(query.TableName), childrenOf(query), leaseKeeper(name, deleter))
  }

  /** Renews the lease in time, also while batches wait for a busy DynamoDB; throws once it is another's. */
  function leaseKeeper(name: string, deleter: string): () => Promise<void> {
    let renewed = now()
    let renewal: Promise<void> | undefined
    const renew = async () => {
      const asked = now()
      const { rejected } = await project
        .patch({ project: name })
        .set({ deleting: asked + LEASE_MS })
        .where((attr, op) => op.eq(attr.deleter, deleter))
        .go({ returnOnConditionCheckFailure: true })
      if (rejected) throw new Problem('concurrent-changes', `Another caller has taken over the deletion of ${name}`)
      renewed = asked
    }
    const end = () => {
      renewal = undefined
    }
    return async () => {
      if (now() - renewed < LEASE_MS / 3) return
      renewal ??= renew().finally(end)
      await renewal
    }
  }

  /** The keys of a partition; the next page is on its way while the last one is used, and no more than these are held. */
  async function* childrenOf(query: Item) {
    const read = (ExclusiveStartKey?: unknown) => {
      const page = dynamo.request('Query', { ...query, ExclusiveStartKey })
      // Whoever takes the page hears of its failure; nobody may come to take it.
      page.catch(() => {})
      return page
    }
    let next: ReturnType<typeof read> | undefined = read()
    while (next) {
      const { Items, LastEvaluatedKey }: Item = await next
      next = LastEvaluatedKey ? read(LastEvaluatedKey) : undefined
      for (const Key of Items as { pk: string; sk: string }[]) {
        if (!isMetadata(Key)) yield { DeleteRequest: { Key } }
      }
    }
  }

  return deleteProject
}
