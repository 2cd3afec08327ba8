import { marshall } from '@aws-sdk/util-dynamodb'
import { layerExpiry, type RemovalEvent } from '../src/services/layer-expiry.js'
import { lambdaDeletion } from '../src/services/layer-lambda.js'
import type { StreamRecord } from '../src/services/layer-stream.js'
import type { Started } from './helpers.js'
import { arn } from './layers-helpers.js'
import type { startLambda } from './layers-standins.js'

/** Records made by hand, and what handles them. */

export const NOW = Date.parse('2026-03-01T00:00:00.000Z')
export const REMOVED = '2026-03-01T00:00:00.000Z'
const STREAM = 'arn:aws:dynamodb:us-east-1:123456789012:table/layers/stream/2026-01-01T00:00:00.000'
const TTL = { type: 'Service', principalId: 'dynamodb.amazonaws.com' }
export const pk = (name = 'requests') => `lyr#eu-west-1.${name}`
export const nothing = { restore: async () => true, report: () => {} }

/** A row of a deprecated version, as it was before TTL removed it. */
export const row = (version: number, more: Record<string, unknown> = {}) => ({
  pk: pk(),
  sk: `lyrVrsn#v${version}`,
  rgn: 'eu-west-1',
  pckg: 'requests',
  lyrVrsn: version,
  arn: arn(version),
  requirementsTxt: 'requests\n',
  dplySts: 'deprecated',
  exDt: NOW / 1000 - 10,
  ...more
})

/**
 * A record as Lambda gets it, made by hand: for what a recording does not hold, such as other principals, rows of other
 * programs and texts of any size. What was recorded is in layers-lambda.test.ts.
 */
export const record = (item: Record<string, unknown>, more: Partial<StreamRecord> = {}): StreamRecord => ({
  eventID: String(item.sk),
  eventName: 'REMOVE',
  eventSourceARN: STREAM,
  userIdentity: TTL,
  dynamodb: {
    Keys: marshall({ pk: item.pk, sk: item.sk }),
    OldImage: marshall(item),
    ApproximateCreationDateTime: NOW / 1000,
    SequenceNumber: `seq-${item.sk}`
  },
  ...more
})

export const eventOf = (item: Record<string, unknown>): RemovalEvent => ({
  source: 'x',
  'detail-type': 'REMOVE',
  detail: { pk_type: 'lyr', sk_type: 'lyrVrsn', record: record(item) as never }
})

export function handlers(started: Started, lambda: Awaited<ReturnType<typeof startLambda>>) {
  return layerExpiry({
    client: started.raw.client,
    table: started.config.tables.layers,
    now: () => NOW,
    deleteLayerVersion: lambdaDeletion(lambda.clientIn)
  })
}
