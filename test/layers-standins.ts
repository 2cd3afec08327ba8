import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import { LambdaClient } from '@aws-sdk/client-lambda'
import type { RemovalEvent } from '../src/services/layer-expiry.js'
import type { Entry } from '../src/services/layer-stream.js'
import type { Test } from './helpers.js'

/** Loopback stand-ins for EventBridge and for Lambda's API, which check what they are sent. */

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
/** A stand-in that is to hang is given up soon; any other is waited for, however slow the machine is. */
const clientOptions = (moods: string[]) => ({
  credentials,
  maxAttempts: 1,
  requestHandler: {
    connectionTimeout: 60_000,
    requestTimeout: moods.some(mood => mood.endsWith('hang')) ? 1500 : 60_000,
    throwOnRequestTimeout: true
  }
})

async function serve(t: Test, answer: (request: IncomingMessage, body: string, response: ServerResponse) => unknown) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    await answer(request, body, response)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function reply(response: ServerResponse, status: number, body: unknown, type?: string): void {
  const headers = { 'content-type': 'application/x-amz-json-1.1', ...(type ? { 'x-amzn-errortype': type } : {}) }
  response.writeHead(status, headers).end(status === 204 ? undefined : JSON.stringify(body))
}

/** What the bus does with a request: takes all, refuses some, hangs or breaks after it has taken all. */
export type BusMood = 'take' | 'refuse half' | 'refuse all' | 'throttle' | 'take and hang' | 'break'

type SentEntry = Entry & { EventBusName?: string }

/** An event bus. `moods` are for the requests to come, in turn; then it takes all. */
export async function startBus(t: Test, moods: BusMood[] = []) {
  const requests: SentEntry[][] = []
  const events: RemovalEvent[] = []
  const complaints: string[] = []
  /** Entries whose Detail holds one of these are malformed for ever. */
  const poison: string[] = []

  const take = ({ Source, DetailType, Detail }: SentEntry) => {
    events.push({ source: Source, 'detail-type': DetailType, detail: JSON.parse(Detail) })
    return { EventId: String(events.length) }
  }
  const url = await serve(t, async (request, body, response) => {
    const { Entries } = JSON.parse(body) as { Entries: SentEntry[] }
    if (request.headers['x-amz-target'] !== 'AWSEvents.PutEvents') complaints.push('not PutEvents')
    if (Entries.length > 10) complaints.push(`${Entries.length} entries`)
    const size = Entries.reduce((sum, e) => sum + Buffer.byteLength(e.Source + e.DetailType + e.Detail), 0)
    if (size > 256 * 1024) complaints.push(`${size} bytes`)
    requests.push(Entries)
    const mood = moods.shift() ?? 'take'
    if (mood === 'break') return reply(response, 500, { message: 'broken' }, 'InternalException')
    if (mood === 'throttle') return reply(response, 400, { message: 'slowly' }, 'ThrottlingException')
    const answers = Entries.map((entry, i) => {
      if (poison.some(text => entry.Detail.includes(text))) return { ErrorCode: 'MalformedDetail', ErrorMessage: 'bad' }
      const isRefused = mood === 'refuse all' || (mood === 'refuse half' && i % 2 === 0)
      if (isRefused) return { ErrorCode: 'InternalFailure', ErrorMessage: 'later' }
      return take(entry)
    })
    if (mood === 'take and hang') return undefined
    const FailedEntryCount = answers.filter(answer => 'ErrorCode' in answer).length
    return reply(response, 200, { FailedEntryCount, Entries: answers })
  })
  const client = new EventBridgeClient({ region: 'us-east-1', endpoint: url, ...clientOptions(moods) })
  const putEvents = (Entries: Entry[]) => client.send(new PutEventsCommand({ Entries }))
  return { url, moods, requests, events, complaints, poison, putEvents }
}

export type LambdaMood = 'delete' | 'break' | 'delete and break' | 'delete and hang' | 'throttle'

/** Lambda's API of all regions: it knows layer versions, and deletes them. */
export async function startLambda(t: Test, versions: Iterable<string>, moods: LambdaMood[] = []) {
  const present = new Set(versions)
  const deleted: string[] = []
  const calls: string[] = []
  const url = await serve(t, async (request, _body, response) => {
    const [, layer, version] = /^\/2018-10-31\/layers\/([^/]+)\/versions\/(\d+)$/.exec(request.url ?? '') ?? []
    const [, region] = /\/(\w+-\w+-\d)\/lambda\//.exec(request.headers.authorization ?? '') ?? []
    const name = `${decodeURIComponent(layer ?? '')}:${version}`
    calls.push(`${request.method} ${region} ${name}`)
    const mood = moods.shift() ?? 'delete'
    if (mood === 'break') return reply(response, 500, { message: 'broken' }, 'ServiceException')
    if (mood === 'throttle') return reply(response, 429, { message: 'slowly' }, 'TooManyRequestsException')
    const wasThere = present.delete(name)
    if (wasThere) deleted.push(name)
    if (mood === 'delete and hang') return undefined
    if (mood === 'delete and break') return reply(response, 502, { message: 'lost' }, 'ServiceException')
    if (!wasThere) return reply(response, 404, { Message: 'no such version' }, 'ResourceNotFoundException')
    return reply(response, 204, undefined)
  })
  const options = clientOptions(moods)
  const clientIn = (region: string) => new LambdaClient({ region, endpoint: url, ...options })
  return { url, present, deleted, calls, clientIn }
}

/** Calls until it succeeds, as Lambda does with events. */
export async function persist(action: () => Promise<unknown>, tries = 20): Promise<void> {
  for (let i = 1; ; i++) {
    try {
      await action()
      return
    } catch (error) {
      if (i === tries) throw error
      await sleep(5)
    }
  }
}
