import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions
} from 'fastify'
import { type DestinationStream, destination } from 'pino'
import { safeAddress } from './secrets.js'

type Logger = FastifyServerOptions['logger']

/** The logger with requests told so that no secret is kept. */
export function safeLogger(logger: Logger, adminToken?: string): Logger {
  if (typeof logger !== 'object') return logger ?? false
  const req = ({ method, url, host, ip, socket }: FastifyRequest) => ({
    method,
    url: safeAddress(url, adminToken),
    host,
    remoteAddress: ip,
    remotePort: socket?.remotePort
  })
  return { ...logger, serializers: { req } }
}

/**
 * One line a request at `info`, when it has been answered or its caller has gone; at `debug` also one when it comes. A
 * socket, which may stay for hours, is told when it comes.
 */
export class RequestLog extends Fastify.LogController {
  override incomingRequest(request: FastifyRequest): void {
    request.log[request.headers.upgrade ? 'info' : 'debug']({ req: request }, 'incoming request')
  }

  override requestCompleted(err: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const told = { req: request, res: reply, responseTime: reply.elapsedTime }
    if (err) reply.log.error({ ...told, err }, 'request errored')
    else reply.log.info(told, 'request completed')
  }
}

/** Callers who go before they are answered. */
export function addAbortLog(app: FastifyInstance): void {
  app.addHook('onRequestAbort', (request, done) => {
    request.log.info({ req: request }, 'request aborted')
    done()
  })
}

/**
 * Standard output, to which the lines of one turn of the event loop are written together: under load a write for each is
 * a twentieth of a request. A process that ends by itself writes what is left.
 */
export function logInTurns(): DestinationStream {
  const out = destination({ sync: true })
  let lines = ''
  const write = () => {
    const text = lines
    lines = ''
    if (text !== '') out.write(text)
  }
  process.once('exit', write)
  return {
    write(line) {
      if (lines === '') setImmediate(write)
      lines += line
    }
  }
}
