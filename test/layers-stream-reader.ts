import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type _Record as StreamedRecord
} from '@aws-sdk/client-dynamodb-streams'
import type { DynamoDBRecord } from 'aws-lambda'
import { imageToJson } from '../src/dynamo/images.js'
import type { Attributes } from '../src/dynamo/values.js'
import { anonymous } from './outside.js'

/** The stream of a table as the streams client reads it, and as Lambda hands it over. */

/** Gives the stream's name, and a function that reads on from where its last call ended. */
export async function openStream(endpoint: string, client: DynamoDBClient, TableName: string) {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }))
  const StreamArn = Table?.LatestStreamArn as string
  const streams = new DynamoDBStreamsClient({ ...anonymous, endpoint })
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }))
  const shards = StreamDescription?.Shards ?? []
  let iterators = await Promise.all(
    shards.map(async ({ ShardId }) => {
      const request = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' as const }
      return (await streams.send(new GetShardIteratorCommand(request))).ShardIterator
    })
  )
  async function read(): Promise<StreamedRecord[]> {
    const answers = await Promise.all(
      iterators.filter(Boolean).map(ShardIterator => streams.send(new GetRecordsCommand({ ShardIterator })))
    )
    iterators = answers.map(answer => answer.NextShardIterator)
    return answers.flatMap(answer => answer.Records ?? [])
  }
  return { arn: StreamArn, label: Table?.LatestStreamLabel as string, read, close: () => streams.destroy() }
}

/**
 * A record as Lambda hands it over. It differs from what GetRecords gives the client in what AWS documents: the stream is
 * named, the members of the identity are in lower case, time is a number of seconds, and bytes are base64.
 */
export function lambdaRecord({ userIdentity: by, dynamodb, ...record }: StreamedRecord, arn: string): DynamoDBRecord {
  const { ApproximateCreationDateTime: at, Keys, NewImage, OldImage, ...rest } = dynamodb ?? {}
  const images = Object.entries({ Keys, NewImage, OldImage }).filter(([, image]) => image !== undefined)
  return {
    ...record,
    dynamodb: {
      ...(at ? { ApproximateCreationDateTime: at.getTime() / 1000 } : {}),
      ...Object.fromEntries(images.map(([name, image]) => [name, imageToJson(image as Attributes)])),
      ...rest
    },
    eventSourceARN: arn,
    ...(by ? { userIdentity: { principalId: by.PrincipalId, type: by.Type } } : {})
  } as DynamoDBRecord
}
