/** An attribute value as it travels in JSON: binary is base64. */
export interface Value {
  S?: string
  N?: string
  B?: string
  BOOL?: boolean
  NULL?: boolean
  SS?: string[]
  NS?: string[]
  BS?: string[]
  L?: Value[]
  M?: Item
}

/** An item, or a key, as it travels in JSON. */
export type Item = Record<string, Value>

/** A request whose shape has not been looked at yet, or only by dynalite's validations. */
export type Data = Record<string, unknown>

interface KeyElement {
  AttributeName: string
}

interface Index {
  IndexName: string
  IndexStatus?: string
  KeySchema: KeyElement[]
  Projection: { ProjectionType: string; NonKeyAttributes?: string[] }
}

/** A table's description, as DescribeTable answers it. */
export interface Table {
  TableName: string
  TableArn: string
  TableStatus: string
  KeySchema: KeyElement[]
  AttributeDefinitions: { AttributeName: string; AttributeType: 'S' | 'N' | 'B' }[]
  GlobalSecondaryIndexes?: Index[]
  LocalSecondaryIndexes?: Index[]
  StreamSpecification?: { StreamEnabled: boolean; StreamViewType?: string }
  LatestStreamArn?: string
  LatestStreamLabel?: string
}
