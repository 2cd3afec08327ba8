import { IncomingMessage } from 'node:http'
import websocket from '@fastify/websocket'
import type { FastifyInstance } from 'fastify'

const MEGABYTE = 1024 * 1024
/** How long a stopping server waits for clients to say goodbye, too. */
const FAREWELL_MS = 1000

/** The one address where a connection may become a WebSocket. */
const SOCKET_URL = /^\/v1\/live(\?|$)/

const asked = Symbol('upgrade')

/**
 * A request that becomes a socket only where it may. Node takes every request with `Upgrade` for one as soon as anyone
 * listens to upgrades; yet Java's client and `curl --http2` offer `h2c` with each request, and want their answer.
 */
export class SocketRequest extends IncomingMessage {
  declare [asked]: unknown

  set upgrade(value: unknown) {
    this[asked] = value
  }

  get upgrade(): boolean {
    return Boolean(this[asked]) && isForSocket(this)
  }
}

function isForSocket({ method, url = '', headers }: IncomingMessage): boolean {
  // A CONNECT is none of ours, and Node ends it by itself.
  if (method === 'CONNECT') return true
  return method === 'GET' && SOCKET_URL.test(url) && headers.upgrade?.toLowerCase() === 'websocket'
}

/** WebSockets with the limits that bodies have; `close` ends what is live before the server stops. */
export async function addSockets(app: FastifyInstance, close: () => Promise<void>): Promise<void> {
  await app.register(websocket, {
    options: { maxPayload: MEGABYTE, handleProtocols: chooseProtocol },
    errorHandler: (error, socket, request) => {
      request.log.debug({ err: error }, 'a socket broke off')
      socket.terminate()
    },
    preClose(done) {
      close().then(
        () => {
          app.websocketServer.close()
          setTimeout(() => {
            for (const client of app.websocketServer.clients) client.terminate()
          }, FAREWELL_MS)
          done()
        },
        (error: Error) => done(error)
      )
    }
  })
  // A connection that was refused as a socket ends, so nobody should send another request over it.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.ws) reply.header('connection', reply.hasHeader('upgrade') ? 'upgrade, close' : 'close')
    done(null, payload)
  })
}

/** A browser wants one of the protocols it offered; that with the token is not to be repeated if there is another. */
function chooseProtocol(offered: Set<string>): string | false {
  const [first = false] = offered
  return [...offered].find(protocol => !/^bearer(64)?\./.test(protocol)) ?? first
}
