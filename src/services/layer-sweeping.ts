import type { Dynamo } from '../dynamo/client.js'
import type { Expired } from '../dynamo/engine/index.js'
import { type DeleteLayerVersion, inProcessBus, layerExpiry } from './layer-expiry.js'
import { announceRemovals } from './layer-stream.js'

interface Log {
  info(details: object, message: string): void
  error(details: object, message: string): void
}

/**
 * The way of an expired layer where nothing of AWS is at hand: the embedded engine's sweeper is the stream, the bus is in
 * this process, and of the layer version in Lambda there is only a line in the log.
 */
export function embeddedExpiry(dynamo: Dynamo, table: string, now: () => number, log: Log) {
  const deleteLayerVersion: DeleteLayerVersion = async layer =>
    log.info(layer, 'a layer has expired; on AWS its version would be deleted from Lambda now')
  const { restore, expireLayer } = layerExpiry({ client: dynamo.client, table, deleteLayerVersion, now })
  const tools = {
    source: 'embedded',
    putEvents: inProcessBus(expireLayer),
    restore,
    report: (reason: string, { dynamodb }: { dynamodb?: { Keys?: object } }) =>
      log.error({ reason, keys: dynamodb?.Keys }, 'an expired layer cannot be handled'),
    /** The engine gives what failed again with its next sweep. */
    tries: 1
  }
  return async (records: Expired[]) => {
    const failed = await announceRemovals(records, tools)
    if (failed.length > 0) throw new Error(`${failed.length} expired layers are to be handled again`)
  }
}
