import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** What keeps us from DynamoDB, in one line that says what to do about it. */

interface Failure extends Error {
  code?: string
  errors?: Failure[]
  hostname?: string
  $metadata?: { httpStatusCode?: number }
}

const DENIED = /^AccessDenied/
const UNKNOWN_CALLER =
  /^(UnrecognizedClientException|InvalidSignatureException|MissingAuthenticationToken|InvalidClientTokenId|SignatureDoesNotMatch|IncompleteSignature)/
const EXPIRED = /^(ExpiredToken|RequestExpired)/

/** The reasons that we know; nothing of them is secret. */
export function reasonOf(error: unknown): string | undefined {
  const { name, message, code, errors = [], hostname } = error as Failure
  if (message === 'Region is missing') return 'no region is set: set AWS_REGION'
  if (name === 'CredentialsProviderError') {
    return `no AWS credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached (${oneLine(message)})`
  }
  if (DENIED.test(name)) return `the credentials do not allow it: attach what quintet tables policy prints (${name})`
  if (UNKNOWN_CALLER.test(name)) return `the credentials are not valid (${name})`
  if (EXPIRED.test(name)) return `the credentials have expired (${name})`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `there is no host ${hostname ?? ''}: is AWS_REGION right? (${code})`
  const network = code ?? errors[0]?.code
  if (network) return `it cannot be reached (${network})`
  return name === 'TimeoutError' ? 'it does not answer (TimeoutError)' : undefined
}

/** The reason, or what the error itself says. */
export function explain(error: unknown): string {
  const { message, name } = error as Failure
  return reasonOf(error) ?? (oneLine(message) || name)
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

/** Resolves what every request needs, so that it is missed at start and not at the first request. */
export async function assertCanAsk(client: DynamoDBClient, where: string): Promise<void> {
  try {
    await client.config.region()
    await client.config.credentials()
  } catch (error) {
    throw new Error(`DYNAMODB=${where} cannot be used: ${explain(error)}`, { cause: error })
  }
}
