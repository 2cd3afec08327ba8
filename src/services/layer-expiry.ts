import { randomUUID } from 'node:crypto'
import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { imageFromJson } from '../dynamo/images.js'
import type { Attributes } from '../dynamo/values.js'
import { arnOf, deletedImage, IS_ABSENT, isDeletedImage, isLayerVersion } from '../entities/layers.js'
import { type RemovalDetail, type RemovalRecord, type StreamTools, Unprocessable } from './layer-stream.js'

/** From the event bus to what an expiry sets off: the row comes back as deleted, and the layer goes from its region. */

export interface RemovalEvent {
  source: string
  'detail-type': string
  detail: RemovalDetail
}

/** A version as Lambda's API names it. */
export interface LayerVersion {
  region: string
  layer: string
  version: number
}

export type DeleteLayerVersion = (layer: LayerVersion) => Promise<unknown>

const ARN = /^(arn:aws[\w-]*:lambda:([a-z0-9-]+):\d{12}:layer:[\w-]+):(\d+)$/

export interface ExpiryTools {
  client: DynamoDBClient
  table: string
  deleteLayerVersion: DeleteLayerVersion
  now: () => number
}

/** The handler of removals; run twice, it changes nothing more. */
export function layerExpiry({ client, table, deleteLayerVersion, now }: ExpiryTools) {
  /** Puts the row back as deleted, unless something stands there; says whether it is a deleted one then. */
  async function restore({ dynamodb: { OldImage, ApproximateCreationDateTime: at } }: RemovalRecord): Promise<boolean> {
    const time = new Date(at === undefined ? now() : at * 1000).toISOString()
    try {
      await client.send(
        new PutItemCommand({
          TableName: table,
          Item: deletedImage(imageFromJson(OldImage), time),
          ConditionExpression: IS_ABSENT,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
        })
      )
      return true
    } catch (error) {
      const { name, message, Item } = error as Error & { Item?: Attributes }
      if (name === 'ValidationException') throw new Unprocessable(`The row cannot be put back: ${message}`)
      if (name !== 'ConditionalCheckFailedException') throw error
      return isDeletedImage(Item)
    }
  }

  async function expireLayer({ detail, 'detail-type': type }: RemovalEvent): Promise<void> {
    if (type !== 'REMOVE' || !isLayerVersion(detail)) return
    // A row that is active again was written since: it is not ours to end.
    if (!(await restore(detail.record))) return
    await deleteLayerVersion(layerVersionOf(arnOf(detail.record.dynamodb.OldImage)))
  }

  return { restore, expireLayer }
}

function layerVersionOf(arn: string | undefined): LayerVersion {
  const [, layer, region, version] = ARN.exec(arn ?? '') ?? []
  if (!layer || !region) throw new Unprocessable(`The row names no layer version: ${arn}`)
  return { layer, region, version: Number(version) }
}

/** A bus in this process: it delivers at once, and refuses what its handler could not do. */
export function inProcessBus(handle: (event: RemovalEvent) => Promise<void>): StreamTools['putEvents'] {
  return async entries => {
    const Entries = await Promise.all(
      entries.map(async ({ Source, DetailType, Detail }) => {
        try {
          await handle({ source: Source, 'detail-type': DetailType, detail: JSON.parse(Detail) })
          return { EventId: randomUUID() }
        } catch (error) {
          const ErrorCode = error instanceof Unprocessable ? 'InvalidArgument' : 'InternalFailure'
          return { ErrorCode, ErrorMessage: (error as Error).message }
        }
      })
    )
    return { FailedEntryCount: Entries.filter(({ ErrorCode }) => ErrorCode !== undefined).length, Entries }
  }
}
