import { readFile } from 'node:fs/promises'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.js'
import type { Message } from '../live/hub.js'
import type { Live } from '../live/live.js'
import { type LiveRequest, serveSocket } from '../live/socket.js'
import { problemOf } from '../plugins/errors.js'
import type { LiveMetrics } from '../plugins/metrics.js'
import { assertStorable } from '../plugins/validation.js'
import { invalid, Problem } from '../problems.js'
import { problems } from '../schemas/common.js'
import * as schema from '../schemas/realtime.js'
import type { RealtimeService } from '../services/realtime.js'
import type { Routes } from './reply.js'

const tags = ['realtime']
const MAX_HEARTBEAT_MS = 15_000
const RETRY_MS = 1000
/** How long a stream that has ended may take to reach its reader. */
const FAREWELL_MS = 1000

const socketDescription = `The client sends \`LiveRequest\`, each answered in its order with \`LiveOk\` or \`LiveError\`; \`LiveValue\` and \`LiveDeleted\` come by themselves for the states that it has subscribed to.

Versions of a state rise and none comes twice; a slow reader gets the newest value, not each. After a reconnect, subscribe with \`since\`.

A browser, which cannot send \`Authorization\` here, offers the token as a protocol: \`new WebSocket(url, ['quintet', 'bearer.' + token])\`, or \`bearer64.\` and its base64url. Pages of other origins than this server's and \`CORS_ORIGIN\` are refused.

Close codes: 1001 the server stops, 1003 not a text, 1008 too many messages, 1009 over 1 MB, 1013 try later, 4001 the connection was ended or has expired.`

export interface LiveParts {
  realtime: RealtimeService
  live: Live
  metrics: LiveMetrics
  config: Config
  now: () => number
}

/** `/v1/live` and `/v1/states/{name}/events`: states that arrive by themselves. */
export const liveRoutes: Routes<LiveParts> = async (app, { service: { realtime, live, metrics, config, now } }) => {
  const { liveTtl: ttl, liveRate: rate } = config.realtime

  app.route({
    method: 'GET',
    url: '/live',
    exposeHeadRoute: false,
    onRequest: async request => {
      assertOrigin(request, config.corsOrigin)
      if (request.ws) assertHandshake(request)
    },
    schema: {
      operationId: 'openSocket',
      tags,
      summary: 'Open a WebSocket, over which states are set and arrive',
      description: socketDescription,
      querystring: schema.LiveQuery,
      response: {
        101: {
          description: 'From now on both sides send messages, each a JSON text.',
          content: { 'application/json': { schema: schema.LiveMessage } }
        },
        ...problems('forbidden', 'upgrade-required', 'shutting-down')
      }
    },
    handler: async () => {
      throw new Problem('upgrade-required', undefined, { headers: { upgrade: 'websocket', connection: 'upgrade' } })
    },
    wsHandler: (socket, request) => {
      const valid = request.compileValidationSchema(schema.LiveRequest, 'body')
      const check = (message: unknown): LiveRequest => {
        if (typeof message === 'object' && message !== null) assertStorable(message)
        const verdict = valid(message) as true | { error: Problem }
        if (verdict !== true) throw verdict.error
        return message as LiveRequest
      }
      const { userId = 'anonymous' } = request.query as { userId?: string }
      const { log } = request
      const toProblem = (error: unknown) => problemOf(error as Parameters<typeof problemOf>[0])
      return serveSocket(socket, {
        userId,
        live,
        service: realtime,
        metrics,
        ttl,
        rate,
        now,
        log,
        check,
        problemOf: toProblem
      })
    }
  })

  app.get(
    '/states/:name/events',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'watchState',
        tags,
        summary: 'Get a state’s values as they are written, as server-sent events',
        description:
          'For `EventSource`. Each `value` event has the version as its id; `deleted` says that the state is gone. A client that comes back with `Last-Event-ID` gets the present value if it is another.',
        params: schema.StateParams,
        querystring: schema.LiveQuery,
        headers: schema.LastEventId,
        response: {
          200: {
            description: 'Values as they come.',
            content: { 'text/event-stream': { schema: { type: 'string' } } }
          },
          ...problems('shutting-down')
        }
      }
    },
    async (request, reply) => {
      const { raw } = reply
      const write = (text: string, taken?: () => void) => raw.write(text, error => error || taken?.())
      const sink = {
        send: (message: Message | { text: string }, taken: () => void) => void write(eventOf(message), taken),
        close: () => {
          // Before the first event the answer may still be a problem.
          if (!reply.sent) return
          raw.end()
          // Who does not read does not come to the end, and would keep the connection.
          setTimeout(() => raw.destroy(), FAREWELL_MS).unref()
        }
      }
      const { 'last-event-id': version } = request.headers
      const since = version === undefined ? undefined : { version }
      const session = await live.open(request.query.userId ?? 'anonymous', sink)
      try {
        await session.subscribe(request.params.name, since, () => {
          reply.hijack()
          raw.writeHead(200, { ...eventHeaders, ...(reply.getHeaders() as Record<string, string>) })
          write(`retry: ${RETRY_MS}\n\n`)
        })
      } catch (error) {
        session.end(0, '')
        throw error
      }
      const heartbeat = setInterval(
        () => {
          if (raw.writableEnded) return
          write(':\n\n')
          session.keepAlive().catch(err => request.log.warn({ err }, 'a live connection could not be renewed'))
        },
        Math.min(MAX_HEARTBEAT_MS, (ttl * 1000) / 4)
      ).unref()
      const end = () => {
        clearInterval(heartbeat)
        session.end(0, '')
      }
      raw.on('close', end)
      if (raw.destroyed) end()
    }
  )
}

const eventHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // The stream ends with its connection, so that a stopping server need not wait for the client to let go of it.
  connection: 'close',
  'x-accel-buffering': 'no'
}

function eventOf(message: Message | { text: string }): string {
  if (!('name' in message)) return `data: ${message.text}\n\n`
  const { version, text } = message
  return version === undefined
    ? `id\nevent: deleted\ndata: ${text}\n\n`
    : `id: ${version}\nevent: value\ndata: ${text}\n\n`
}

/** Browsers say where a page is from and let any page open a socket; only ours and those allowed may. */
function assertOrigin({ headers }: FastifyRequest, allowed: readonly string[]): void {
  const { origin, host } = headers
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return
  if (URL.canParse(origin) && new URL(origin).host === host) return
  throw new Problem('forbidden', 'Pages of this origin may not open a socket here: see CORS_ORIGIN')
}

const KEY = /^[+/0-9A-Za-z]{22}==$/
const PROTOCOLS = /^[\w!#$%&'*+.^`|~-]+(\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/

/** What RFC 6455 asks of a request; found later, it would not be answered with a problem. */
function assertHandshake({ headers }: FastifyRequest): void {
  const { 'sec-websocket-key': key = '', 'sec-websocket-version': version, 'sec-websocket-protocol': offered } = headers
  if (version !== '13') {
    throw new Problem('upgrade-required', 'The WebSocket protocol here is of version 13', {
      headers: { upgrade: 'websocket', connection: 'upgrade', 'sec-websocket-version': '13' }
    })
  }
  if (!KEY.test(key)) throw invalid('headers/sec-websocket-key', 'must be 16 bytes in base64')
  if (offered !== undefined && !isListOfOnce(offered)) {
    throw invalid('headers/sec-websocket-protocol', 'must be a list of protocols, each named once')
  }
}

function isListOfOnce(offered: string): boolean {
  const names = offered.split(/\s*,\s*/)
  return PROTOCOLS.test(offered) && new Set(names).size === names.length
}

const page = {
  '/live': ['index.html', 'text/html; charset=utf-8'],
  '/live/live.js': ['live.js', 'text/javascript; charset=utf-8'],
  '/live/live.css': ['live.css', 'text/css; charset=utf-8']
} as const

/** `/live`: a page that shows a value move. */
export const livePage: Routes<undefined> = async app => {
  for (const [url, [file, type]] of Object.entries(page)) {
    const path = new URL(`../../../public/live/${file}`, import.meta.url)
    app.get(url, { schema: { hide: true }, logLevel: 'warn' }, async (_request, reply) => {
      reply.type(type).header('cache-control', 'no-cache')
      return readFile(path)
    })
  }
}
