import { setTimeout as sleep } from 'node:timers/promises'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { isConflict, toProblem } from './errors.js'
import { type Operation, type Send, sdkSend } from './operations.js'
import { marshalInput, unmarshalOutput } from './wire.js'

/** One request to DynamoDB, as told to those who count and measure. */
export interface DynamoRequest {
  operation: string
  /** What was sent. */
  input: Record<string, unknown>
  tables: string[]
  units: number
  seconds: number
  error?: string
}

export type Observer = (request: DynamoRequest) => void

/** What ElectroDB needs of a client, and the plain client behind it. */
export interface Dynamo {
  // biome-ignore lint/suspicious/noExplicitAny: ElectroDB hands over any of its commands and types the answer itself
  send(command: any, options?: any): Promise<any>
  /** One operation with plain values, for what ElectroDB does not do. */
  request(
    operation: Operation,
    input: Record<string, unknown>,
    options?: { abortSignal?: AbortSignal }
  ): Promise<Record<string, unknown>>
  readonly client: DynamoDBClient
}

/** The part of a document client's command that names its operation, whatever a bundler calls the class. */
interface DocumentCommand {
  input: Record<string, unknown>
  clientCommand: { schema: [unknown, unknown, Operation] }
}

/** Seconds of patience on the whole: a race that has a winner each round is not to end in failures. */
const MAX_CONFLICTS = 30
const MAX_CONFLICT_WAIT_MS = 500

/**
 * The way of every item to and from DynamoDB: marshalled, checked against DynamoDB's limits, freed of what ElectroDB
 * would add, counted, and retried when transactions of other callers are in the way.
 */
export function createDynamo(client: DynamoDBClient, observe: Observer, send: Send = sdkSend(client)): Dynamo {
  async function once(operation: Operation, input: Record<string, unknown>, options?: { abortSignal?: AbortSignal }) {
    const started = performance.now()
    const tell = (units: number, error?: string) => {
      const seconds = (performance.now() - started) / 1000
      observe({ operation, input, tables: tablesOf(input), units, seconds, error })
    }
    try {
      const output = await send(operation, input, options)
      tell(unitsOf(output))
      return output
    } catch (error) {
      tell(0, (error as Error).name)
      throw error
    }
  }

  async function request(
    operation: Operation,
    plain: Record<string, unknown>,
    options?: { abortSignal?: AbortSignal }
  ) {
    const input = marshalInput(operation, plain)
    for (let attempt = 1; ; attempt++) {
      try {
        return unmarshalOutput(await once(operation, input, options))
      } catch (error) {
        if (attempt === MAX_CONFLICTS || !isConflict(error)) throw toProblem(error)
        await sleep(Math.random() * Math.min(20 * 2 ** attempt, MAX_CONFLICT_WAIT_MS))
      }
    }
  }

  return {
    client,
    request,
    send: (command: DocumentCommand, options) => request(command.clientCommand.schema[2], command.input, options)
  }
}

function tablesOf(input: Record<string, unknown>): string[] {
  if (typeof input.TableName === 'string') return [input.TableName]
  if (input.RequestItems) return Object.keys(input.RequestItems)
  const items = (input.TransactItems ?? []) as Record<string, { TableName: string }>[]
  return [...new Set(items.flatMap(item => Object.values(item).map(part => part.TableName)))]
}

type Consumed = { CapacityUnits?: number }

function unitsOf({ ConsumedCapacity: consumed }: { ConsumedCapacity?: Consumed | Consumed[] }): number {
  if (!Array.isArray(consumed)) return consumed?.CapacityUnits ?? 0
  return consumed.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0)
}
