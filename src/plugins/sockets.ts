import websocket from '@fastify/websocket'
import type { FastifyInstance } from 'fastify'

const MEGABYTE = 1024 * 1024
/** How long a stopping server waits for clients to say goodbye, too. */
const FAREWELL_MS = 1000

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
}

/** A browser wants one of the protocols it offered; that with the token is not to be repeated if there is another. */
function chooseProtocol(offered: Set<string>): string | false {
  const [first = false] = offered
  return [...offered].find(protocol => !/^bearer(64)?\./.test(protocol)) ?? first
}
