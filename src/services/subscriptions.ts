import type { Dynamo } from '../dynamo/client.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import type { Item } from '../dynamo/values.js'
import { amended, attempt, transact } from '../dynamo/write.js'
import { lifeAt, type RealtimeEntities } from '../entities/realtime.js'
import { Problem } from '../problems.js'
import type { RealtimeContext } from './realtime-events.js'
import { assertFuture, secondsOf } from './ttl.js'

export interface SubscriptionView {
  stateName: string
  connectionId: string
  status: 'subscribed' | 'unsubscribed'
  subscribedAt?: number
  unsubscribedAt?: number
  reason?: string
  ttl?: number
}

const MAX_TRIES = 8

export const connectionNotFound = (id: string) => new Problem('connection-not-found', `There is no connection ${id}`)

/** The actions on subscriptions. */
export function subscriptionActions(dynamo: Dynamo, { entities }: RealtimeEntities, context: RealtimeContext) {
  const { subscription, connection } = entities
  const { cursors, now, publish } = context

  const present = (item: SubscriptionView): SubscriptionView => ({
    stateName: item.stateName,
    connectionId: item.connectionId,
    status: item.status,
    subscribedAt: item.subscribedAt,
    unsubscribedAt: item.unsubscribedAt,
    reason: item.reason,
    ttl: item.ttl
  })
  /** The condition under which a subscription is there and active. */
  const active = () => {
    const { isLive, names, values } = lifeAt(secondsOf(now))
    return {
      condition: `${isLive} AND #status = :active`,
      names: { ...names, '#status': 'status' },
      values: { ...values, ':active': 'subscribed' }
    }
  }

  async function listSubscriptionsOfState(stateName: string, request: PageRequest) {
    const page = await readPage(cursors, ['subscriptions of state', stateName], request, options =>
      subscription.query
        .byState({ stateName })
        .where(({ status }, { eq }) => eq(status, 'subscribed'))
        .go(options)
    )
    return { ...page, items: page.items.map(item => present(item as SubscriptionView)) }
  }

  async function listSubscriptionsOfConnection(connectionId: string, request: PageRequest) {
    const page = await readPage(cursors, ['subscriptions of connection', connectionId], request, options =>
      subscription.query.byConnection({ connectionId, status: 'subscribed' }).go(options)
    )
    return { ...page, items: page.items.map(item => present(item as SubscriptionView)) }
  }

  /** Begins an inactive subscription of a connection that is there; gives the one that is active already, if so. */
  async function begin(stateName: string, connectionId: string, ttl?: number): Promise<SubscriptionView | null> {
    const seconds = secondsOf(now)
    const { isLive, isGone, ...life } = lifeAt(seconds)
    const item = { stateName, connectionId, status: 'subscribed' as const, subscribedAt: seconds, ttl }
    const params = subscription.upsert({ ...item, statusTimestamp: String(seconds) }).params()
    const cancelled = await transact(dynamo, [
      { ConditionCheck: amended(connection.get({ connectionId }).params(), { condition: isLive, ...life }) },
      {
        Update: amended(params, {
          remove: ['unsubscribedAt', 'reason', ...(ttl === undefined ? ['ttl'] : [])],
          condition: `${isGone} OR NOT #status = :active`,
          names: { ...life.names, '#status': 'status' },
          values: { ...life.values, ':active': 'subscribed' }
        })
      }
    ])
    if (cancelled?.[0]?.rejected) throw connectionNotFound(connectionId)
    if (!cancelled) return null
    return subscription.parse({ Item: cancelled[1]?.item as never }).data as SubscriptionView
  }

  /** Moves the end of an active subscription; false if it is not active. */
  async function renew(stateName: string, connectionId: string, ttl: number): Promise<boolean> {
    const params = subscription.patch({ stateName, connectionId }).set({ ttl }).params()
    const { rejected } = await attempt(dynamo, 'UpdateItem', amended(params, active()))
    return !rejected
  }

  /** A subscription that is active already stays as it is, but for the `ttl` that is given. */
  async function subscribe(stateName: string, connectionId: string, { ttl }: { ttl?: number } = {}) {
    assertFuture(ttl, now)
    for (let attempts = 0; attempts < MAX_TRIES; attempts++) {
      const subscribedAt = secondsOf(now)
      const standing = await begin(stateName, connectionId, ttl)
      const created = standing === null
      const item = standing ?? { stateName, connectionId, status: 'subscribed' as const, subscribedAt, ttl }
      const isSame = ttl === undefined || item.ttl === ttl
      if (!isSame && !(await renew(stateName, connectionId, ttl))) continue
      publish({ kind: 'subscribed', name: stateName, connectionId })
      return { created, subscription: present(isSame ? item : { ...item, ttl }) }
    }
    throw new Problem('concurrent-changes')
  }

  /** The update that ends a subscription, if it is active. */
  function ending(stateName: string, connectionId: string, reason?: string): Item {
    const unsubscribedAt = secondsOf(now)
    const params = subscription
      .patch({ stateName, connectionId })
      .set({ status: 'unsubscribed', statusTimestamp: String(unsubscribedAt), unsubscribedAt, reason })
      .params()
    return amended(params, { ...active(), remove: reason === undefined ? ['reason'] : [] })
  }

  async function unsubscribe(stateName: string, connectionId: string, reason?: string): Promise<void> {
    const { rejected } = await attempt(dynamo, 'UpdateItem', ending(stateName, connectionId, reason))
    if (rejected) {
      throw new Problem('subscription-not-found', `${connectionId} has no active subscription to ${stateName}`)
    }
    publish({ kind: 'unsubscribed', name: stateName, connectionId })
  }

  return { listSubscriptionsOfState, listSubscriptionsOfConnection, subscribe, renew, ending, unsubscribe }
}

export type SubscriptionActions = ReturnType<typeof subscriptionActions>
