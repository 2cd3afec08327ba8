import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { fastSend } from '../src/dynamo/fast-client.js'
import { httpExchange } from '../src/dynamo/fast-http.js'
import { type Send, sdkSend } from '../src/dynamo/operations.js'
import type { Test } from './helpers.js'

export interface Asked {
  headers: IncomingMessage['headers']
  target: string
  body: string
  at: number
}

/** What the stand-in does with a request: the n-th since it started, from 1. */
export type Script = (asked: Asked, n: number, response: ServerResponse) => unknown

/** An endpoint on loopback that answers as a script says, and remembers what it was asked. */
export async function standIn(t: Test, script: Script) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const target = String(request.headers['x-amz-target']).replace(/^DynamoDB_20120810\./, '')
    const one = { headers: request.headers, target, body: Buffer.concat(parts).toString(), at: Date.now() }
    script(one, asked.push(one), response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Answers as DynamoDB does, checksum included. */
export function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.0',
    'x-amzn-requestid': 'R1',
    'x-amz-crc32': String(crc32(text)),
    ...headers
  })
  response.end(text)
}

/** An error answer of DynamoDB's, by its name. */
export function refuse(response: ServerResponse, name: string, more: object = {}, headers = {}) {
  const __type = `com.amazonaws.dynamodb.v20120810#${name}`
  answer(response, 400, { __type, message: `It is ${name}`, ...more }, headers)
}

/** Longer than any machine stalls: what runs into them here is meant to. */
const LIMITS = { connectionTimeout: 30_000, requestTimeout: 30_000 }

/** Both ways to an endpoint, each with an official client of its own. */
export function bothWays(
  t: Test,
  endpoint: string,
  settings: DynamoDBClientConfig = {},
  limits = LIMITS
): Record<'fast' | 'sdk', Send> {
  const open = () => {
    const client = new DynamoDBClient({
      endpoint,
      region: 'eu-west-1',
      credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret' },
      maxAttempts: 4,
      requestHandler: { ...limits, throwOnRequestTimeout: true },
      ...settings
    })
    t.teardown(() => client.destroy())
    return client
  }
  const client = open()
  const { exchange, close } = httpExchange(client, limits)
  t.teardown(close)
  return { fast: fastSend(client, exchange), sdk: sdkSend(open()) }
}
