import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { catalogue, Problem, type ProblemCode } from '../problems.js'

/** One place that turns whatever was thrown into RFC 9457's problem+json. */

const ours: Record<string, ProblemCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid-json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid-json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid-request',
  FST_ERR_BAD_URL: 'invalid-request',
  FST_ERR_MAX_PARAM_LENGTH: 'uri-too-long',
  FST_ERR_ASYNC_CONSTRAINT: 'invalid-request',
  FST_ERR_NOT_FOUND: 'not-found',
  FST_ERR_HANDLER_TIMEOUT: 'timeout'
}

/** The problem that an error is for the caller; what we do not know is our fault, and its text stays here. */
export function problemOf(error: FastifyError | Problem): Problem {
  if (error instanceof Problem) return error
  const code = ours[error.code]
  if (code) return new Problem(code, error.message)
  if (error.statusCode === 429) {
    const retryAfter = (error as unknown as { retryAfter?: string }).retryAfter
    return new Problem('too-many-requests', undefined, { headers: retryAfter ? { 'retry-after': retryAfter } : {} })
  }
  if (error.statusCode && error.statusCode >= 400 && error.statusCode < 500)
    return new Problem('invalid-request', error.message)
  if (error.name === 'ResourceNotFoundException' || error.name === 'CredentialsProviderError') {
    return new Problem('database-unavailable', undefined, { headers: { 'retry-after': '5' } })
  }
  const problem = new Problem('internal-error')
  problem.cause = error
  return problem
}

/** Answers with a problem. */
export function sendProblem(problem: Problem, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { code, status, title, message: detail, extras } = problem
  const body = { type: `/problems/${code}`, title, status, detail, code, instance: request.id }
  return reply
    .code(status)
    .headers(extras.headers ?? {})
    .type('application/problem+json')
    .serializer((value: unknown) => JSON.stringify(value))
    .send({ ...extras.members, ...body, ...(extras.errors ? { errors: extras.errors } : {}) })
}

/** Errors that Fastify finds before it has a route. */
export function frameworkErrors(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  sendProblem(problemOf(error), request, reply)
}

/** What is not HTTP at all gets its answer on the bare socket. */
export function clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const [status, reason] = isTooLarge ? [431, 'Request Header Fields Too Large'] : [400, 'Bad Request']
  const body = JSON.stringify({
    type: '/problems/invalid-request',
    title: catalogue['invalid-request'][1],
    status,
    detail: isTooLarge ? 'The headers or the address are too long' : 'This is not an HTTP request',
    code: 'invalid-request'
  })
  const head = `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}`
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`)
}

export function addErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = problemOf(error)
    if (problem.status >= 500) request.log.error({ err: problem.cause ?? error, code: problem.code }, problem.message)
    return sendProblem(problem, request, reply)
  })
  app.setNotFoundHandler(() => {
    throw new Problem('not-found')
  })
  // The `type` of a problem is an address; whoever follows it finds what the problem is.
  app.get<{ Params: { code: string } }>('/problems/:code', { schema: { hide: true } }, async ({ params: { code } }) => {
    if (!Object.hasOwn(catalogue, code)) throw new Problem('not-found')
    const [status, title] = catalogue[code as ProblemCode]
    return { type: `/problems/${code}`, code, status, title }
  })
}

/** 405 with `Allow` for the methods that an address does not take, and an answer to OPTIONS. To be called last. */
export function addMethodNotAllowed(app: FastifyInstance, routes: Map<string, Set<string>>): void {
  for (const [url, taken] of [...routes]) {
    const allow = [...taken, 'OPTIONS'].sort().join(', ')
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(method => !taken.has(method))
    app.route({
      method: others,
      url,
      schema: { hide: true },
      handler: async () => {
        throw new Problem('method-not-allowed', `This address takes ${allow}`, { headers: { allow } })
      }
    })
    if (!taken.has('OPTIONS')) {
      app.route({
        method: 'OPTIONS',
        url,
        schema: { hide: true },
        handler: async (_request, reply) => reply.code(204).header('allow', allow).send()
      })
    }
  }
}
