const service = 'com.amazonaws.dynamodb.v20120810#'

/** An error answer, in the shape that dynalite's own errors have. */
export class ApiError extends Error {
  readonly statusCode: number
  readonly body: Record<string, unknown>

  constructor(type: string, message: string, more: Record<string, unknown> = {}, statusCode = 400) {
    super(message)
    this.statusCode = statusCode
    this.body = { __type: type, message, ...more }
  }
}

/** An answer: a status and JSON. */
export interface Answer {
  status: number
  body: string
}

export const validation = (message: string) => new ApiError('com.amazon.coral.validate#ValidationException', message)

export const serialization = (message: string) =>
  new ApiError('com.amazon.coral.service#SerializationException', message, { Message: message })

export const unknownOperation = () => new ApiError('com.amazon.coral.service#UnknownOperationException', '')

export const tooLarge = () =>
  new ApiError('com.amazon.coral.service#RequestEntityTooLargeException', 'Request exceeds 16 MB', {}, 413)

/** An exception of DynamoDB's own, by its name. */
export const failure = (name: string, message: string, more?: Record<string, unknown>) =>
  new ApiError(service + name, message, { Message: message, ...more })

/** Whether an error is an answer for the caller: one of ours, or one of dynalite's, which are plain objects. */
export function isApiError(err: unknown): err is ApiError {
  return err instanceof Error && 'statusCode' in err && 'body' in err
}

export const isConditionFailure = (err: ApiError) => String(err.body.__type).endsWith('ConditionalCheckFailedException')

/** The answer to an error, whatever it is. */
export function answerTo(err: unknown): Answer {
  if (isApiError(err)) return { status: err.statusCode, body: JSON.stringify(err.body) }
  const message = err instanceof Error ? err.message : String(err)
  return { status: 500, body: JSON.stringify({ __type: `${service}InternalServerError`, message }) }
}
