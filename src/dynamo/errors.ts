import { Problem } from '../problems.js'
import { imageToJson } from './images.js'
import type { Attributes } from './values.js'

/** What goes wrong between us and DynamoDB, told apart by what a caller can do about it. */

interface DynamoError extends Error {
  CancellationReasons?: { Code?: string; Item?: Attributes; Message?: string }[]
  Item?: Attributes
  $fault?: 'client' | 'server'
  $retryable?: unknown
  code?: string
}

const BUSY = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'LimitExceededException',
  'InternalServerError',
  'ServiceUnavailable',
  'TransactionInProgressException',
  'ReplicatedWriteConflictException',
  'TimeoutError'
])
/** Why a part of a transaction was not even judged. */
const BUSY_REASONS = new Set(['ThrottlingError', 'ProvisionedThroughputExceeded', 'TransactionConflict'])
const NETWORK = /^(E[A-Z]+|UND_ERR_\w+)$/

/**
 * Another transaction holds the same item: nothing was written, and the same request may succeed in a moment. What is
 * said of its other items is not the whole truth then: that of the held one was not looked at.
 */
export function isConflict(error: unknown): boolean {
  const { name, CancellationReasons: reasons = [] } = error as DynamoError
  if (name === 'TransactionConflictException' || name === 'TransactionInProgressException') return true
  return reasons.some(({ Code }) => Code === 'TransactionConflict')
}

/** The problem that an error of DynamoDB is for the caller, or the error itself where services decide. */
export function toProblem(error: unknown): unknown {
  const failure = error as DynamoError
  if (failure.name === 'ConditionalCheckFailedException') return withSafeImages(failure)
  if (failure.CancellationReasons) return cancellation(failure)
  if (/payload (size cannot|in response is too)/i.test(failure.message)) return new Problem('transaction-too-large')
  if (/item size/i.test(failure.message) && failure.name === 'ValidationException') return new Problem('item-too-large')
  if (/nesting levels/i.test(failure.message)) return new Problem('nesting-too-deep')
  if (BUSY.has(failure.name) || failure.$fault === 'server' || NETWORK.test(failure.code ?? ''))
    return unavailable(failure)
  return error
}

function cancellation(failure: DynamoError): unknown {
  const reasons = failure.CancellationReasons ?? []
  if (reasons.some(({ Code }) => BUSY_REASONS.has(Code ?? ''))) return unavailable(failure)
  if (reasons.some(({ Code }) => Code === 'ConditionalCheckFailed')) return withSafeImages(failure)
  if (reasons.some(({ Message }) => /item size/i.test(Message ?? ''))) return new Problem('item-too-large')
  if (reasons.some(({ Message }) => /nesting levels/i.test(Message ?? ''))) return new Problem('nesting-too-deep')
  return failure
}

function unavailable(cause: Error): Problem {
  const problem = new Problem('database-unavailable', undefined, { headers: { 'retry-after': '1' } })
  problem.cause = cause
  return problem
}

/** ElectroDB reads these images with a marshaller that throws on numbers beyond a double's integers. */
function withSafeImages(failure: DynamoError): DynamoError {
  if (failure.Item) failure.Item = safeImage(failure.Item)
  for (const reason of failure.CancellationReasons ?? []) if (reason.Item) reason.Item = safeImage(reason.Item)
  return failure
}

function safeImage(image: Attributes): Attributes {
  const text = JSON.stringify(imageToJson(image))
  if (!/"N":"-?[\d.]{16}/.test(text)) return image
  return JSON.parse(text, (name, value) => (name === 'N' && typeof value === 'string' ? bounded(value) : value))
}

function bounded(text: string): string {
  const value = Number(text)
  return String(Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER))
}
