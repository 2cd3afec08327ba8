import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, type ProblemCode } from '../problems.js'

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

export function addErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = problemOf(error)
    if (problem.status >= 500) request.log.error({ err: problem.cause ?? error, code: problem.code }, problem.message)
    return sendProblem(problem, request, reply)
  })
  app.setNotFoundHandler(() => {
    throw new Problem('not-found')
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
