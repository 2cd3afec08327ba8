import type { Dynamo } from '../dynamo/client.js'
import { realtimeEntities } from '../entities/realtime.js'
import { connectionActions } from './connections.js'
import type { RealtimeContext } from './realtime-events.js'
import { stateActions } from './states.js'
import { subscriptionActions } from './subscriptions.js'
import { userActions } from './users.js'

/** What can be done with Compose's states, subscriptions, connections and users. */
export function realtimeService(dynamo: Dynamo, table: string, context: RealtimeContext) {
  const entities = realtimeEntities(dynamo, table, context.now)
  const { ending, ...subscriptions } = subscriptionActions(dynamo, entities, context)
  return {
    ...stateActions(dynamo, entities, context),
    ...subscriptions,
    ...connectionActions(dynamo, entities, context, { ...subscriptions, ending }),
    ...userActions(dynamo, entities, context)
  }
}

export type RealtimeService = ReturnType<typeof realtimeService>
