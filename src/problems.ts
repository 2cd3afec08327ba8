/** Every problem that Quintet answers with, by its code: the status and the title of RFC 9457. */
export const catalogue = {
  'invalid-request': [400, 'The request is not valid'],
  'invalid-json': [400, 'The body is not JSON'],
  'invalid-cursor': [400, 'The cursor does not belong to this list'],
  'nesting-too-deep': [400, 'The value is nested deeper than DynamoDB stores'],
  'invalid-key': [400, 'The identifiers are too long to be stored'],
  unauthorized: [401, 'A valid bearer token is needed'],
  forbidden: [403, 'The token does not open this'],
  'not-found': [404, 'There is nothing at this address'],
  'method-not-allowed': [405, 'The address does not take this method'],
  'not-acceptable': [406, 'No representation fits the Accept header'],
  'request-timeout': [408, 'The request took too long to arrive'],
  'precondition-failed': [412, 'The resource is not what If-Match or If-None-Match says'],
  'body-too-large': [413, 'The body is too large'],
  'item-too-large': [413, 'The item would exceed the 400 KB that DynamoDB stores'],
  'transaction-too-large': [413, 'The items exceed the 4 MB that DynamoDB reads or writes together'],
  'uri-too-long': [414, 'The address is too long'],
  'unsupported-media-type': [415, 'The body must be application/json'],
  'expectation-failed': [417, 'What the header Expect asks for is not to be had'],
  'upgrade-required': [426, 'The address speaks WebSocket only'],
  'too-many-requests': [429, 'Too many requests'],
  'headers-too-large': [431, 'The headers are too large'],
  'internal-error': [500, 'Something went wrong here'],
  'database-unavailable': [503, 'The database throttles or cannot be reached'],
  'shutting-down': [503, 'The server is stopping'],

  'deployment-not-found': [404, 'No such deployment'],
  'deployment-exists': [409, 'The deployment exists already'],
  'invalid-transition': [409, 'The deployment cannot go from its status to that one'],
  'aliases-exist': [409, 'Aliases point at the deployment'],
  'alias-not-found': [404, 'No such alias'],
  'alias-exists': [409, 'The alias exists already'],
  'deployment-alias': [409, 'The alias belongs to its deployment'],
  'target-not-found': [404, 'No such target'],
  'deployment-destroying': [409, 'The deployment is being destroyed'],
  'nothing-to-revert': [409, 'The alias has never pointed elsewhere'],
  'change-not-found': [404, 'No such change in the history of the alias'],

  'layer-not-found': [404, 'No such layer'],
  'layer-is-latest': [409, 'The layer is the latest version'],
  'layer-not-deprecated': [409, 'The layer is not deprecated'],
  'layer-in-channel': [409, 'A channel holds the layer'],
  'channel-not-found': [404, 'No such channel'],
  'build-not-found': [404, 'No such build'],

  'tenant-not-found': [404, 'No such tenant'],
  'audit-not-found': [404, 'No such audit record'],
  'operation-in-progress': [409, 'The operation is in progress'],
  'stale-execution': [409, 'The record belongs to another execution'],
  'provisioning-failed': [502, 'The tenant could not be provisioned'],

  'project-not-found': [404, 'No such project'],
  'project-exists': [409, 'The project exists already'],
  'project-deleting': [409, 'The project of that name is being deleted'],
  'token-not-found': [404, 'No such token'],
  'credential-type-fixed': [409, 'The credential type of a target cannot be changed'],
  'concurrent-changes': [409, 'Others keep changing the resource'],

  'state-not-found': [404, 'No such state'],
  'subscription-not-found': [404, 'No such subscription'],
  'connection-not-found': [404, 'No such connection'],
  'user-not-found': [404, 'No such user'],
  'email-taken': [409, 'The email belongs to another user']
} as const satisfies Record<string, readonly [status: number, title: string]>

export type ProblemCode = keyof typeof catalogue

/** One offending field of a request. */
export interface FieldError {
  path: string
  message: string
}

/** What a problem may carry beside its code and its sentence. */
export interface ProblemExtras {
  errors?: FieldError[]
  headers?: Record<string, string>
  /** Members that the answer gets in addition, such as the record that stands in the way. */
  members?: Record<string, unknown>
}

/** An answer that is not a success; thrown where the rule is, turned into problem+json in one place. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly extras: ProblemExtras

  constructor(code: ProblemCode, detail?: string, extras: ProblemExtras = {}) {
    super(detail ?? catalogue[code][1])
    this.name = 'Problem'
    this.code = code
    this.extras = extras
  }

  get status(): number {
    return catalogue[this.code][0]
  }

  get title(): string {
    return catalogue[this.code][1]
  }
}

/** A request that breaks a rule which its schema cannot express. */
export function invalid(path: string, message: string): Problem {
  return new Problem('invalid-request', `${path} ${message}`, { errors: [{ path, message }] })
}
