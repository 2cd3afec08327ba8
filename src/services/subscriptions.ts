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

const subscriptionNotFound = (stateName: string, connectionId: string) =>
  new Problem('subscription-not-found', `${connectionId} has no active subscription to ${stateName}`)

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
    ttl: item.ttl,
    ...strangenessOf(item)
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

  /** The active subscription; one that has ended is stored, and is no resource any more. */
  async function findSubscription(stateName: string, connectionId: string): Promise<SubscriptionView | undefined> {
    const { data } = await subscription.get({ stateName, connectionId }).go({ consistent: true })
    const found = data as SubscriptionView | null
    return found?.status === 'subscribed' ? present(found) : undefined
  }

  async function getSubscription(stateName: string, connectionId: string): Promise<SubscriptionView> {
    const found = await findSubscription(stateName, connectionId)
    if (!found) throw subscriptionNotFound(stateName, connectionId)
    return found
  }

  /** The condition that a subscription, which must be the one that If-Match names, is still the same. */
  function matching(ifMatch: string, seen: SubscriptionView | undefined): Amendment {
    assertMatch(ifMatch, seen)
    return stillAs(seen ?? {}, ['subscribedAt', 'ttl'])
  }

  /** The check that a connection is there. */
  function isConnected(connectionId: string) {
    const { isLive, isGone: _, ...life } = lifeAt(secondsOf(now))
    return { ConditionCheck: amended(connection.get({ connectionId }).params(), { condition: isLive, ...life }) }
  }

  /** Begins an inactive subscription of a connection that is there; gives the one that is active already, if so. */
  async function begin(stateName: string, connectionId: string, ttl?: number) {
    const seconds = secondsOf(now)
    const { isGone, isLive: _, ...life } = lifeAt(seconds)
    const item = { stateName, connectionId, status: 'subscribed' as const, subscribedAt: seconds, ttl }
    const params = subscription.upsert({ ...item, statusTimestamp: String(seconds) }).params()
    const cancelled = await transact(dynamo, [
      isConnected(connectionId),
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
    if (!cancelled) return { begun: true }
    const { data } = subscription.parse({ Item: cancelled[1]?.item as never })
    return { begun: false, standing: data as SubscriptionView | null }
  }

  /** Moves the end of an active subscription; false if it is not active. */
  async function renew(stateName: string, connectionId: string, ttl: number): Promise<boolean> {
    const params = subscription.patch({ stateName, connectionId }).set({ ttl }).params()
    const { rejected } = await attempt(dynamo, 'UpdateItem', amended(params, active()))
    return !rejected
  }

  /** A subscription that is active already stays as it is, but for the `ttl` that is given. */
  async function subscribe(
    stateName: string,
    connectionId: string,
    { ttl }: { ttl?: number } = {},
    { ifMatch, ifNoneMatch }: Preconditions = {}
  ) {
    assertFuture(ttl, now)
    if (ifMatch !== undefined) return resubscribe(stateName, connectionId, ttl, ifMatch)
    for (let attempts = 0; attempts < MAX_TRIES; attempts++) {
      const subscribedAt = secondsOf(now)
      const { begun: created, standing } = await begin(stateName, connectionId, ttl)
      if (!created && ifNoneMatch !== undefined) throw new Problem('precondition-failed')
      // It expired between the write and now.
      if (!created && !standing) continue
      const item = standing ?? { stateName, connectionId, status: 'subscribed' as const, subscribedAt, ttl }
      const isSame = ttl === undefined || item.ttl === ttl
      if (!isSame && !(await renew(stateName, connectionId, ttl))) continue
      publish({ kind: 'subscribed', name: stateName, connectionId })
      return { created, subscription: present(isSame ? item : { ...item, ttl }) }
    }
    throw new Problem('concurrent-changes')
  }

  /** The same where the caller says which one is active: one transaction, which holds only if it still is. */
  async function resubscribe(stateName: string, connectionId: string, ttl: number | undefined, ifMatch: string) {
    const found = await findSubscription(stateName, connectionId)
    const same = matching(ifMatch, found)
    const seen = found as SubscriptionView
    const key = { stateName, connectionId }
    const cancelled = await transact(dynamo, [
      isConnected(connectionId),
      ttl === undefined
        ? { ConditionCheck: amended(subscription.get(key).params(), active(), same) }
        : { Update: amended(subscription.patch(key).set({ ttl }).params(), active(), same) }
    ])
    if (cancelled?.[0]?.rejected) throw connectionNotFound(connectionId)
    if (cancelled) throw new Problem('precondition-failed')
    publish({ kind: 'subscribed', name: stateName, connectionId })
    return { created: false, subscription: present(ttl === undefined ? seen : { ...seen, ttl }) }
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

  async function unsubscribe(
    stateName: string,
    connectionId: string,
    reason?: string,
    { ifMatch }: Preconditions = {}
  ): Promise<void> {
    // What is not there is 404, whatever If-Match says.
    const demands = ifMatch === undefined ? [] : [matching(ifMatch, await getSubscription(stateName, connectionId))]
    const update = amended(ending(stateName, connectionId, reason), ...demands)
    const { rejected } = await attempt(dynamo, 'UpdateItem', update)
    if (rejected) {
      throw ifMatch === undefined ? subscriptionNotFound(stateName, connectionId) : new Problem('precondition-failed')
    }
    publish({ kind: 'unsubscribed', name: stateName, connectionId })
  }

  return {
    listSubscriptionsOfState,
    listSubscriptionsOfConnection,
    getSubscription,
    subscribe,
    renew,
    ending,
    unsubscribe
  }
}

export type SubscriptionActions = ReturnType<typeof subscriptionActions>
