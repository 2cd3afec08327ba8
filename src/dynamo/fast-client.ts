import { randomUUID } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Engine } from './engine/index.js'
import { decode, encode } from './json.js'
import { commands, type Operation, type Send } from './operations.js'
import { hintOf, kindOf } from './retries.js'

/** An answer as it came. */
export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer | string
  /** The request was signed with a wrong time, and the next one will not be. */
  clockCorrected?: boolean
}

/** One request and its answer, whatever that is; throws only if there is none. */
export type Exchange = (target: string, body: string, signal?: AbortSignal) => Promise<Answer>

/** The engine in this process needs no socket, no signature and no middleware. */
export function engineExchange(engine: Engine): Exchange {
  return async (target, body, signal) => {
    if (signal?.aborted) throw aborted()
    const answer = await engine.handle(target, body)
    return { status: answer.status, headers: {}, body: answer.body }
  }
}

export const aborted = () => Object.assign(new Error('Request aborted'), { name: 'AbortError' })

interface RetryToken {
  getRetryDelay(): number
}

/** The part of the official client's retry strategy that its middleware uses, too. */
interface RetryStrategy {
  acquireInitialRetryToken(scope: string): Promise<RetryToken>
  refreshRetryTokenForRetry(token: RetryToken, failure: object): Promise<RetryToken>
  recordSuccess(token: RetryToken): void
}

/**
 * DynamoDB without the official client's middleware, which costs several times what the protocol needs. What it
 * decides is still decided by it: the retry strategy and its budget, and which error an answer is.
 */
export function fastSend(client: DynamoDBClient, exchange: Exchange): Send {
  async function attempt(operation: Operation, body: string, signal?: AbortSignal) {
    const answer = await exchange(`DynamoDB_20120810.${operation}`, body, signal)
    if (answer.status >= 300) throw await errorOf(client, operation, answer)
    return decode(answer.body.toString())
  }

  let strategy: RetryStrategy | undefined
  return async (operation, input, { abortSignal } = {}) => {
    const body = encode(operation === 'TransactWriteItems' ? withToken(input) : input)
    strategy ??= (await client.config.retryStrategy()) as RetryStrategy
    let token = await strategy.acquireInitialRetryToken('')
    for (let attempts = 1; ; attempts++) {
      try {
        const output = await attempt(operation, body, abortSignal)
        strategy.recordSuccess(token)
        return output
      } catch (error) {
        token = await nextToken(strategy, token, error as Failure, attempts, abortSignal)
      }
    }
  }
}

/** With the token, a transaction that was written and whose answer was lost is not written again by the retry. */
function withToken(input: Record<string, unknown>) {
  return { ...input, ClientRequestToken: input.ClientRequestToken ?? randomUUID() }
}

interface Failure extends Error {
  $metadata?: { httpStatusCode?: number; attempts?: number; clockSkewCorrected?: boolean }
  $response?: Pick<Answer, 'headers'>
}

/** Waits as the strategy says and gives the token for the next attempt; throws the failure if there is to be none. */
async function nextToken(
  strategy: RetryStrategy,
  token: RetryToken,
  failure: Failure,
  attempts: number,
  signal?: AbortSignal
): Promise<RetryToken> {
  const info = { error: failure, errorType: kindOf(failure), retryAfterHint: hintOf(failure.$response?.headers) }
  const next = strategy.refreshRetryTokenForRetry(token, info).catch(() => {
    failure.$metadata = { ...failure.$metadata, attempts }
    throw failure
  })
  const refreshed = await unlessAborted(next, signal)
  const delay = refreshed.getRetryDelay()
  if (delay > 0) await unlessAborted(new Promise(resolve => setTimeout(resolve, delay)), signal)
  return refreshed
}

function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(aborted())
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

interface Protocol {
  deserializeResponse(operation: object, context: object, response: object): Promise<unknown>
}

/** The error that the official client makes of an answer. */
async function errorOf(client: DynamoDBClient, operation: Operation, answer: Answer): Promise<Failure> {
  const [, namespace, name, traits, input, output] = new commands[operation]({}).schema
  const response = { statusCode: answer.status, headers: answer.headers, body: Buffer.from(answer.body) }
  const protocol = client.config.protocol as unknown as Protocol
  const failure = await protocol
    .deserializeResponse({ namespace, name, traits, input, output }, client.config, response)
    .then(
      () => new Error(`DynamoDB answered with ${answer.status}`) as Failure,
      (error: Failure) => error
    )
  failure.$metadata = { httpStatusCode: answer.status, ...failure.$metadata }
  if (answer.clockCorrected) failure.$metadata.clockSkewCorrected = true
  Object.defineProperty(failure, '$response', { value: response, enumerable: false, configurable: true })
  return failure
}
