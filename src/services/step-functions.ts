import { setTimeout as sleep } from 'node:timers/promises'
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn'
import type { TenantOperation } from '../entities/tenants.js'
import { type Provisioner, StartFailure } from './provisioner.js'

export type StateMachines = Record<TenantOperation, string>

export interface StepFunctionsOptions {
  stateMachines: StateMachines
  endpoint?: string
  /** No credentials are around, and the endpoint needs none. */
  anonymous?: boolean
  requestTimeout?: number
}

const MAX_TRIES = 4
const MAX_REASON = 1024
const THROTTLED = /Throttl|TooManyRequests|RequestLimitExceeded|SlowDown/
/** The request did not leave us. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

interface SfnError extends Error {
  code?: string
  $fault?: 'client' | 'server'
}

/**
 * Standard workflows of AWS Step Functions. The tries are ours and not the SDK's, because whether any of them went
 * unanswered decides what may follow.
 */
export function stepFunctions(options: StepFunctionsOptions): Provisioner {
  const { stateMachines, endpoint, anonymous, requestTimeout = 5000 } = options
  const client = new SFNClient({
    region: stateMachines.CREATE.split(':')[3],
    endpoint,
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 2000, requestTimeout, throwOnRequestTimeout: true },
    ...(anonymous ? { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } } : {})
  })

  async function start(operation: TenantOperation, name: string, input: string) {
    const command = { stateMachineArn: stateMachines[operation], name, input }
    let unanswered = false
    for (let attempt = 1; ; attempt++) {
      try {
        await client.send(new StartExecutionCommand(command))
        return 'started'
      } catch (error) {
        const failure = error as SfnError
        if (failure.name === 'ExecutionAlreadyExists') return 'ended'
        const isThrottled = THROTTLED.test(failure.name)
        const isUnanswered = !isThrottled && failure.$fault !== 'client' && !isUnsent(failure)
        unanswered ||= isUnanswered
        const isFinal = attempt === MAX_TRIES || !(isThrottled || isUnanswered)
        if (isFinal) throw new StartFailure(`${failure.name}: ${failure.message}`.slice(0, MAX_REASON), unanswered)
        await sleep(Math.random() * 50 * 2 ** attempt)
      }
    }
  }

  return {
    executionArn(operation, name) {
      const [arn, partition, service, region, account, , machine] = stateMachines[operation].split(':')
      return [arn, partition, service, region, account, 'execution', machine, name].join(':')
    },
    start,
    retryAfter: 10,
    close: () => client.destroy()
  }
}

const isUnsent = ({ name, code = '' }: SfnError) => UNSENT.has(code) || name === 'CredentialsProviderError'
