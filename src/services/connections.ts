import type { Dynamo } from '../dynamo/client.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { strangenessOf } from '../dynamo/declared.js'
import type { Item } from '../dynamo/values.js'
import { type Amendment, amended, attempt, stillAs, transact } from '../dynamo/write.js'
import { lifeAt, type RealtimeEntities } from '../entities/realtime.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import type { Preconditions } from './context.js'
import type { RealtimeContext } from './realtime-events.js'
import { connectionNotFound, type SubscriptionActions } from './subscriptions.js'
import { assertFuture, secondsOf } from './ttl.js'

export interface ConnectionView {
  connectionId: string
  userId: string
  connectedAt?: string
  ttl?: number
}

/** As many as DynamoDB takes in one transaction. */
const BATCH_SIZE = 100
const CLOSED = 'connection closed'

/** The actions on connections. */
export function connectionActions(
  dynamo: Dynamo,
  { entities }: RealtimeEntities,
  { cursors, now, publish }: RealtimeContext,
  { ending }: SubscriptionActions
) {
  const { connection, subscription } = entities

  const present = (item: ConnectionView): ConnectionView => ({
    connectionId: item.connectionId,
    userId: item.userId,
    connectedAt: item.connectedAt,
    ttl: item.ttl,
    ...strangenessOf(item)
  })

  async function getConnection(connectionId: string): Promise<ConnectionView> {
    const { data } = await connection.get({ connectionId }).go({ consistent: true })
    if (!data) throw connectionNotFound(connectionId)
    return present(data as ConnectionView)
  }

  async function listConnectionsOfUser(userId: string, request: PageRequest) {
    const page = await readPage(cursors, ['connections of user', userId], request, options =>
      connection.query.byUser({ userId }).go(options)
    )
    return { ...page, items: page.items.map(item => present(item as ConnectionView)) }
  }

  /** The condition that If-Match or If-None-Match puts on a write. */
  async function demanded(id: string, { ifMatch, ifNoneMatch }: Preconditions): Promise<Amendment[]> {
    const { isLive, isGone, ...life } = lifeAt(secondsOf(now))
    if (ifNoneMatch !== undefined) return [{ condition: isGone, ...life }]
    if (ifMatch === undefined) return []
    const seen = await getConnection(id).catch(nothing)
    assertMatch(ifMatch, seen)
    return [{ condition: isLive, ...life }, sameAs(seen)]
  }
  const sameAs = (seen: Partial<ConnectionView> = {}) => stillAs(seen, ['userId', 'connectedAt', 'ttl'])

  async function connect(
    connectionId: string,
    { userId, ttl }: { userId: string; ttl?: number },
    demands: Preconditions = {}
  ) {
    assertFuture(ttl, now)
    const item = { connectionId, userId, connectedAt: new Date(now()).toISOString(), ttl }
    const params = connection.upsert(item).params({ response: 'all_old' })
    const remove = ttl === undefined ? ['ttl'] : []
    const update = amended(params, { remove }, ...(await demanded(connectionId, demands)))
    const { rejected, before } = await attempt(dynamo, 'UpdateItem', update)
    if (rejected) throw new Problem('precondition-failed')
    const created = !before || connection.parse({ Item: before as never }).data === null
    return { created, connection: item }
  }

  /** Moves the end of a connection that is there; false if it is gone. */
  async function keepAlive(connectionId: string, ttl: number): Promise<boolean> {
    const { isLive, isGone: _, ...life } = lifeAt(secondsOf(now))
    const params = connection.patch({ connectionId }).set({ ttl }).params()
    const { rejected } = await attempt(dynamo, 'UpdateItem', amended(params, { condition: isLive, ...life }))
    return !rejected
  }

  /**
   * Ends the subscriptions, then the connection, then the subscriptions that were begun meanwhile; none can be begun
   * once the connection is gone. After a crash anywhere the next call goes on.
   */
  async function disconnect(connectionId: string, { ifMatch }: Preconditions = {}): Promise<void> {
    const seen = ifMatch === undefined ? undefined : await getConnection(connectionId).catch(nothing)
    if (ifMatch !== undefined && seen) assertMatch(ifMatch, seen)
    // With a condition the connection goes first: if it may not, nothing is ended. One that is gone may have left
    // subscriptions behind, if such a call broke off.
    const ended = seen ? 0 : await endSubscriptions(connectionId)
    const isRemoved = await removeConnection(connectionId, ifMatch === undefined ? [] : [sameAs(seen)])
    if (!isRemoved && seen) throw new Problem('precondition-failed')
    if (isRemoved) await endSubscriptions(connectionId)
    publish({ kind: 'disconnected', connectionId })
    if (!isRemoved && ended === 0) throw connectionNotFound(connectionId)
  }

  async function removeConnection(connectionId: string, conditions: Amendment[]): Promise<boolean> {
    const { isLive, isGone: _, ...life } = lifeAt(secondsOf(now))
    const params = connection.delete({ connectionId }).params()
    const { rejected } = await attempt(
      dynamo,
      'DeleteItem',
      amended(params, { condition: isLive, ...life }, ...conditions)
    )
    return !rejected
  }

  async function endSubscriptions(connectionId: string): Promise<number> {
    let ended = 0
    let cursor: string | null = null
    do {
      const page: { data: { stateName: string }[]; cursor: string | null } = await subscription.query
        .byConnection({ connectionId, status: 'subscribed' })
        .go({ limit: BATCH_SIZE, cursor })
      ended += await endBatch(page.data.map(({ stateName }) => ending(stateName, connectionId, CLOSED)))
      cursor = page.cursor
    } while (cursor !== null)
    return ended
  }

  /** Ends a batch in one transaction; those that others have ended meanwhile drop out of it. */
  async function endBatch(updates: Item[]): Promise<number> {
    let left = updates
    while (left.length > 0) {
      const cancelled = await transact(
        dynamo,
        left.map(Update => ({ Update }))
      )
      if (!cancelled) break
      left = left.filter((_, i) => !cancelled[i]?.rejected)
    }
    return left.length
  }

  return { getConnection, listConnectionsOfUser, connect, keepAlive, disconnect }
}

function nothing(error: unknown): undefined {
  if (error instanceof Problem && error.status === 404) return undefined
  throw error
}
