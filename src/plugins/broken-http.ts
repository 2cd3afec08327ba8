import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, type ProblemCode } from '../problems.js'
import { bodyOf, problemOf, sendProblem } from './errors.js'

/** Answers to what does not come as far as a route. None of the app's hooks run for it. */

const CR_LF = '\r\n'
/** As much as Node takes of a request's first line and headers together. */
const MAX_HEAD = 16 * 1024

type Headers = Record<string, string>
type Told = (request: FastifyRequest, reply: FastifyReply) => void

/** Addresses that cannot be decoded or are too long. They are not repeated in the answer. */
export function frameworkErrors(headers: Headers, tell: Told) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers({ ...headers, 'x-request-id': request.id })
    reply.raw.once('finish', () => tell(request, reply))
    sendProblem(new Problem(problemOf(error).code), request, reply)
  }
}

interface ClientError extends NodeJS.ErrnoException {
  /** What came, a Buffer in truth. */
  rawPacket?: unknown
}

/** What is not HTTP at all, or takes too much room or time, gets its answer on the bare socket. */
export function clientErrorHandler(error: ClientError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, head, body } = bareAnswer(new Problem(codeOf(error), detailOf(error)))
  const lines = Object.entries({ ...head, connection: 'close' }).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join(CR_LF))
}

function codeOf({ code, rawPacket }: ClientError): ProblemCode {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout'
  if (code !== 'HPE_HEADER_OVERFLOW') return 'invalid-request'
  const endOfLine = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf(CR_LF) : 0
  return endOfLine === -1 || endOfLine > MAX_HEAD ? 'uri-too-long' : 'headers-too-large'
}

const detailOf = ({ code }: ClientError) => (code?.startsWith('HPE_HEADER') ? undefined : 'This is not an HTTP request')

/** A problem as it is where there is neither a request of Fastify's nor a reply. */
function bareAnswer(problem: Problem) {
  const id = randomUUID()
  const body = JSON.stringify(bodyOf(problem, id))
  const head = {
    'content-type': 'application/problem+json',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': id
  }
  return { status: problem.status, head, body }
}

/** What Node would answer by itself without a word: expectations that it does not know, and a missing Host. */
export function addBareAnswers(app: FastifyInstance): void {
  app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { status, head, body } = bareAnswer(new Problem('expectation-failed'))
    response.writeHead(status, head).end(body)
  })
  app.addHook('onRequest', ({ raw, headers }, _reply, done) => {
    const isWithout = raw.httpVersion === '1.1' && headers.host === undefined
    done(isWithout ? new Problem('invalid-request', 'The header Host is missing') : undefined)
  })
}
