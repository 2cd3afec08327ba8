import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'
import type { Dispatch } from './dispatch.js'
import { answerTo, tooLarge } from './errors.js'
import { MAX_BODY_BYTES } from './request.js'

// How long closing waits for requests under way.
const GRACE_MS = 1000

/** An open endpoint. */
export interface Listening {
  port: number
  url: string
  close(): Promise<void>
}

/** Opens the endpoint on 127.0.0.1. */
export async function listen(dispatch: Dispatch, port: number): Promise<Listening> {
  const server = createServer((request, response) => {
    serve(dispatch, request, response).catch(() => response.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      const grace = setTimeout(() => server.closeAllConnections(), GRACE_MS)
      await closed
      clearTimeout(grace)
    }
  }
}

async function serve(dispatch: Dispatch, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request)
  if (request.method === 'GET') send(response, 200, 'text/plain', 'healthy')
  else if (request.method !== 'POST') send(response, 404, 'application/xml', '<UnknownOperationException/>\n')
  else {
    const answer = body ? await dispatch(header(request, 'x-amz-target'), body) : answerTo(tooLarge())
    send(response, answer.status, 'application/x-amz-json-1.0', answer.body)
  }
}

const header = (request: IncomingMessage, name: string) => {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** The body, or undefined if it is too large; the rest of it is read and dropped, or the client would not see the answer. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let size = 0
  // A connection that is cut off throws.
  for await (const part of request) {
    size += part.length
    if (size <= MAX_BODY_BYTES) parts.push(part)
    else parts.length = 0
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(parts)
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'x-amz-crc32': crc32(body),
    'x-amzn-requestid': randomUUID()
  })
  response.end(body)
}
