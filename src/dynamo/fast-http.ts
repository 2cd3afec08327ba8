import { crc32 } from 'node:zlib'
import { type DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { Agent, type Dispatcher } from 'undici'
import { type Answer, aborted, type Exchange } from './fast-client.js'
import { createSigner, type Place } from './sigv4.js'

/** How long to wait for what, in milliseconds. */
export interface Limits {
  connectionTimeout: number
  requestTimeout: number
}

/** While many callers wait for a database that is far away, each needs a connection of its own. */
const CONNECTIONS = 256
const IDLE_MS = 20_000
/** As of which difference a clock is wrong and not only late; the official client has the same. */
const SKEW_MS = 240_000

/**
 * Signed requests on undici. Credentials, endpoint, region and the clock's correction are those of the official
 * client, which is asked and not imitated.
 */
export function httpExchange(client: DynamoDBClient, limits: Limits): { exchange: Exchange; close(): Promise<void> } {
  const agent = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    connectTimeout: limits.connectionTimeout,
    headersTimeout: limits.requestTimeout,
    bodyTimeout: limits.requestTimeout
  })
  const sign = createSigner()
  const placeOf = places(client)
  const clock = clockOf(client)

  async function exchange(target: string, body: string, signal?: AbortSignal): Promise<Answer> {
    const credentials = await client.config.credentials()
    const known = placeOf(credentials.accountId)
    const place = known instanceof Promise ? await known : known
    const offset = client.config.systemClockOffset
    const headers = sign(credentials, place, { target, body }, Date.now() + offset)
    const answer = await dispatch(
      agent,
      { origin: place.origin, path: place.path, method: 'POST', headers, body },
      signal
    )
    assertChecksum(answer)
    answer.clockCorrected = clock(answer, offset)
    return answer
  }

  return { exchange, close: () => agent.destroy() }
}

/** The place for an account's requests; with credentials that name no account it is one for all. */
function places(client: DynamoDBClient) {
  const known = new Map<string | undefined, Place | Promise<Place>>()
  return (account: string | undefined): Place | Promise<Place> => {
    const place = known.get(account)
    if (place) return place
    const asked = askPlace(client)
    known.set(account, asked)
    asked.then(
      place => known.set(account, place),
      () => known.delete(account)
    )
    return asked
  }
}

interface SignedRequest {
  protocol: string
  path: string
  headers: Record<string, string>
}

/** Has the official client make and sign a request that is never sent: it shows where requests go. */
async function askPlace(client: DynamoDBClient): Promise<Place> {
  let seen: SignedRequest | undefined
  const command = new ListTablesCommand({})
  command.middlewareStack.add(
    () => async args => {
      seen = args.request as SignedRequest
      return { response: {}, output: { $metadata: {} } }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'showRequest' }
  )
  await client.send(command)
  const { protocol, path, headers } = seen as unknown as SignedRequest
  const [, region, service] = /Credential=.*\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request/.exec(
    headers.authorization ?? ''
  ) as unknown as [string, string, string]
  const host = headers.host as string
  return { origin: `${protocol}//${host}`, host, path, region, service }
}

/** Sends one request and gives its answer whole. */
function dispatch(agent: Agent, options: Dispatcher.DispatchOptions, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted())
    agent.dispatch(options, new Collector(resolve, reject, signal))
  })
}

/** Puts an answer together. Most come in one piece, which is then not copied. */
class Collector implements Dispatcher.DispatchHandler {
  private readonly parts: Buffer[] = []
  private status = 0
  private headers: Answer['headers'] = {}
  private controller?: Dispatcher.DispatchController

  constructor(
    private readonly resolve: (answer: Answer) => void,
    private readonly reject: (error: Error) => void,
    private readonly signal?: AbortSignal
  ) {
    signal?.addEventListener('abort', this.abort, { once: true })
  }

  private readonly abort = () => {
    this.reject(aborted())
    this.controller?.abort(aborted())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.signal?.aborted) controller.abort(aborted())
  }

  onResponseStart(_controller: unknown, status: number, headers: Answer['headers']): void {
    this.status = status
    this.headers = headers
  }

  onResponseData(_controller: unknown, part: Buffer): void {
    this.parts.push(part)
  }

  onResponseEnd(): void {
    this.signal?.removeEventListener('abort', this.abort)
    const [first = Buffer.alloc(0)] = this.parts
    this.resolve({
      status: this.status,
      headers: this.headers,
      body: this.parts.length > 1 ? Buffer.concat(this.parts) : first
    })
  }

  onResponseError(_controller: unknown, error: Error & { code?: string }): void {
    this.signal?.removeEventListener('abort', this.abort)
    // The official client gives the same name to what breaks off on the way.
    if (/^(UND_ERR_\w+|ECONNRESET|EPIPE|ETIMEDOUT)$/.test(error.code ?? '')) error.name = 'TimeoutError'
    this.reject(error)
  }
}

/** DynamoDB gives the checksum of each answer; what was damaged on the way is asked for again. */
function assertChecksum({ headers, body }: Answer): void {
  const sum = headers['x-amz-crc32']
  if (sum === undefined || headers['content-encoding'] !== undefined || Number(sum) === crc32(body)) return
  throw Object.assign(new Error('The answer does not have the checksum that DynamoDB gave it'), {
    name: 'CRC32CheckFailed',
    $retryable: {}
  })
}

/** Corrects the client's idea of the time by what answers say; tells whether a request was signed with a wrong one. */
function clockOf(client: DynamoDBClient) {
  let last: unknown
  return ({ headers }: Answer, signedWith: number): boolean => {
    const { date, age } = headers
    if (typeof date !== 'string' || age !== undefined) return false
    if (date !== last) {
      last = date
      const offset = Date.parse(date) - Date.now()
      if (!Number.isNaN(offset)) client.config.systemClockOffset = offset
    }
    return Math.abs(client.config.systemClockOffset - signedWith) >= SKEW_MS
  }
}
