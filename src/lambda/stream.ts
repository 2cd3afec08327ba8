import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda'
import { readConfig } from '../config.js'
import { openDatabase } from '../dynamo/database.js'
import { layerExpiry } from '../services/layer-expiry.js'
import { announceRemovals } from '../services/layer-stream.js'

/** The Lambda function on the stream of the layers table: what TTL removed goes to the event bus. */

const config = readConfig({ DYNAMODB: 'aws', ...process.env, DOMAINS: 'layers' })
const { client } = (await openDatabase(config, () => {})).dynamo('layers')
const bus = new EventBridgeClient({
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true }
})
const { restore } = layerExpiry({
  client,
  table: config.tables.layers,
  now: Date.now,
  deleteLayerVersion: async () => {
    throw new Error('The stream deletes no layers: the handler of its events does')
  }
})

const tools = {
  restore,
  putEvents: (entries: object[]) =>
    bus.send(
      new PutEventsCommand({ Entries: entries.map(entry => ({ ...entry, EventBusName: config.layers.eventBus })) })
    ),
  report: (reason: string, record: object) =>
    console.error(JSON.stringify({ level: 'error', message: 'an expired layer cannot be handled', reason, record }))
}

/** Gives back what is to come again; Lambda goes on from the first of it. */
export async function handler({ Records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const failed = await announceRemovals(Records as Parameters<typeof announceRemovals>[0], tools)
  return { batchItemFailures: failed.map(({ dynamodb }) => ({ itemIdentifier: dynamodb?.SequenceNumber ?? '' })) }
}
