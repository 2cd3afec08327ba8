import type { TenantOperation } from '../entities/tenants.js'

/** What carries out an operation on a tenant: AWS Step Functions, or the local one. */
export interface Provisioner {
  /** The ARN that an execution of that name has or will have. */
  executionArn(operation: TenantOperation, name: string): string
  /**
   * Starts an execution. Asked again with the same name and input while it runs, it changes nothing; `ended` tells that
   * an execution of that name has been and is over. Throws StartFailure.
   */
  start(operation: TenantOperation, name: string, input: string): Promise<'started' | 'ended'>
  /** After how many seconds it is worth asking how an execution went. */
  readonly retryAfter: number
  close(): void
}

/** An execution that could not be started, or of which nobody knows. */
export class StartFailure extends Error {
  /** No answer came to one of the requests: the execution may run. */
  readonly unanswered: boolean

  constructor(reason: string, unanswered: boolean) {
    super(reason)
    this.name = 'StartFailure'
    this.unanswered = unanswered
  }
}
