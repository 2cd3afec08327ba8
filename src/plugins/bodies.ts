import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../problems.js'

const TYPES = ['application/json', 'application/merge-patch+json']

/** JSON is the only body; none at all is an empty one, so that each missing field is named. */
export function addBodies(app: FastifyInstance): void {
  // Names of prototypes are data like any other; `__proto__`, which is not, is refused with all that cannot be stored.
  const parse = app.getDefaultJsonParser('ignore', 'ignore')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(TYPES, { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    const problem = encodingProblem(request, body as Buffer)
    if (problem) return done(problem)
    return parse(request, body.toString(), done)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.routeOptions.schema?.body) request.body = {}
    done()
  })
}

/** Read as UTF-8, what is something else would be stored with other characters than were sent. */
function encodingProblem({ headers }: FastifyRequest, body: Buffer): Problem | undefined {
  const { 'content-encoding': coding = 'identity', 'content-type': type = '' } = headers
  if (coding !== 'identity') {
    return new Problem('unsupported-media-type', `The body must come as it is, not with Content-Encoding: ${coding}`)
  }
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(type) ?? []
  if (!/^utf-?8$/i.test(charset)) return new Problem('unsupported-media-type', 'The body must be UTF-8')
  return isUtf8(body) ? undefined : new Problem('invalid-json', 'The body is not UTF-8')
}
