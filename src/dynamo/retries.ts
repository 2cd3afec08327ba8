/** Which failures are worth another attempt, in the terms of the official client's retry strategy. */

interface Failure {
  name: string
  message: string
  code?: string
  cause?: unknown
  $retryable?: { throttling?: boolean }
  $metadata?: { httpStatusCode?: number; clockSkewCorrected?: boolean }
}

const THROTTLED = new Set([
  'BandwidthLimitExceeded',
  'EC2ThrottledException',
  'LimitExceededException',
  'PriorRequestNotComplete',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'TransactionInProgressException'
])
const TIMED_OUT = new Set(['TimeoutError', 'RequestTimeout', 'RequestTimeoutException'])
const UNREACHED = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN'
])
const TRANSIENT_STATUSES = new Set([500, 502, 503, 504])

/** The kind of a failure; the strategy tries again after the first two. */
export function kindOf(failure: Failure): 'THROTTLING' | 'TRANSIENT' | 'SERVER_ERROR' | 'CLIENT_ERROR' {
  const status = failure.$metadata?.httpStatusCode ?? 0
  if (status === 429 || THROTTLED.has(failure.name) || failure.$retryable?.throttling) return 'THROTTLING'
  if (isTransient(failure)) return 'TRANSIENT'
  return status >= 500 && status < 600 ? 'SERVER_ERROR' : 'CLIENT_ERROR'
}

function isTransient(failure: Failure, depth = 0): boolean {
  if (failure.name === 'AbortError') return false
  return (
    failure.$retryable !== undefined ||
    Boolean(failure.$metadata?.clockSkewCorrected) ||
    (failure.name === 'InvalidSignatureException' && failure.message.includes('Signature expired')) ||
    TIMED_OUT.has(failure.name) ||
    UNREACHED.has(failure.code ?? '') ||
    TRANSIENT_STATUSES.has(failure.$metadata?.httpStatusCode ?? 0) ||
    (failure.cause instanceof Error && depth < 10 && isTransient(failure.cause, depth + 1))
  )
}

type Headers = Record<string, string | string[] | undefined>

/** The time before which an answer asks us not to come back: milliseconds of AWS, or seconds of a proxy. */
export function hintOf(headers: Headers = {}): Date | undefined {
  const ms = Number(headers['x-amz-retry-after'] ?? Number(headers['retry-after']) * 1000)
  return Number.isNaN(ms) ? undefined : new Date(Date.now() + ms)
}
