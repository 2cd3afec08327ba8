import { LambdaClient } from '@aws-sdk/client-lambda'
import { readConfig } from '../config.js'
import { openDatabase } from '../dynamo/database.js'
import { layerExpiry, type RemovalEvent } from '../services/layer-expiry.js'
import { lambdaDeletion } from '../services/layer-lambda.js'

/** The Lambda function behind the event bus: an expired layer's row comes back as deleted, and its version goes. */

const config = readConfig({ DYNAMODB: 'aws', ...process.env, DOMAINS: 'layers' })
const { client } = (await openDatabase(config, () => {})).dynamo('layers')
const clients = new Map<string, LambdaClient>()

function clientIn(region: string): LambdaClient {
  const known = clients.get(region)
  if (known) return known
  const made = new LambdaClient({
    region,
    maxAttempts: 4,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true }
  })
  clients.set(region, made)
  return made
}

const { expireLayer } = layerExpiry({
  client,
  table: config.tables.layers,
  now: Date.now,
  deleteLayerVersion: lambdaDeletion(clientIn)
})

/** Throws what was not done, so that Lambda tries again and in the end sets the event aside. */
export async function handler(event: RemovalEvent): Promise<void> {
  await expireLayer(event)
}
