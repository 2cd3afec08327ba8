import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand
} from '@aws-sdk/client-dynamodb'

type Fields = Record<string, unknown>

/** The pairs below give each operation its own input, which the compiler cannot follow through a variable. */
type Command = Parameters<DynamoDBClient['send']>[0] & { schema: unknown[] }
type AnyCommand = new (input: Fields) => Command

/** The operations that items need. */
export const commands = {
  GetItem: GetItemCommand,
  PutItem: PutItemCommand,
  UpdateItem: UpdateItemCommand,
  DeleteItem: DeleteItemCommand,
  Query: QueryCommand,
  Scan: ScanCommand,
  BatchGetItem: BatchGetItemCommand,
  BatchWriteItem: BatchWriteItemCommand,
  TransactGetItems: TransactGetItemsCommand,
  TransactWriteItems: TransactWriteItemsCommand
} as unknown as Record<Operation, AnyCommand>

export type Operation =
  | 'GetItem'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'Query'
  | 'Scan'
  | 'BatchGetItem'
  | 'BatchWriteItem'
  | 'TransactGetItems'
  | 'TransactWriteItems'

/** Sends an operation with attribute values in it, and gives its answer. */
export type Send = (operation: Operation, input: Fields, options?: { abortSignal?: AbortSignal }) => Promise<Fields>

/** The official client's way. */
export function sdkSend(client: DynamoDBClient): Send {
  return (operation, input, options) =>
    client.send(new commands[operation](input), options) as unknown as Promise<Fields>
}
