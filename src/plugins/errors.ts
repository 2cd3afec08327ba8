import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { catalogue, Problem, type ProblemCode } from '../problems.js'
import { withoutTokens } from './secrets.js'

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
  FST_ERR_NOT_FOUND: 'not-found'
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

/** The body of a problem, as RFC 9457 has it. */
export function bodyOf({ code, status, title, message: detail, extras }: Problem, instance: string): object {
  const body = { type: `/problems/${code}`, title, status, detail, code, instance }
  return { ...extras.members, ...body, ...(extras.errors ? { errors: extras.errors } : {}) }
}

/** Answers with a problem. */
export function sendProblem(problem: Problem, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .code(problem.status)
    .headers(problem.extras.headers ?? {})
    .type('application/problem+json')
    .serializer((value: unknown) => withoutTokens(JSON.stringify(value)))
    .send(bodyOf(problem, request.id))
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

const ROUTED = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** 405 with `Allow` for the methods that an address does not take, and an answer to OPTIONS. To be called last. */
export function addMethodNotAllowed(app: FastifyInstance, routes: Map<string, Set<string>>): void {
  const known: { pattern: RegExp; isOpen: boolean; refusal: () => Problem }[] = []
  for (const [url, taken] of [...routes]) {
    const allow = [...new Set([...taken, 'OPTIONS'])].sort().join(', ')
    const refusal = () => new Problem('method-not-allowed', `This address takes ${allow}`, { headers: { allow } })
    known.push({ pattern: patternOf(url), isOpen: /:\w+$/.test(url), refusal })
    app.route({
      method: ROUTED.filter(method => !taken.has(method) && method !== 'OPTIONS'),
      url,
      schema: { hide: true },
      handler: async () => {
        throw refusal()
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
  // As in the router, what is written out goes before a parameter.
  known.sort((a, b) => Number(a.isOpen) - Number(b.isOpen))
  // HEAD of a stream, and TRACE, PROPFIND and the like, which no address takes: routes for them all would be more than all others.
  app.addHook('onRequest', ({ is404, method, url }, _reply, done) => {
    if (!is404 || ROUTED.includes(method)) return done()
    const path = url.replace(/\?.*$/s, '')
    done(known.find(({ pattern }) => pattern.test(path))?.refusal() ?? new Problem('not-found'))
  })
}

/** The addresses that a route takes; a colon of its own is written twice. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map(part => {
    const [name = '', ...more] = part.split('::')
    return [name.startsWith(':') ? '[^/]+' : name.replaceAll('.', '\\.'), ...more].join(':')
  })
  return new RegExp(`^${parts.join('/')}$`)
}
