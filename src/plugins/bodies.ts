import type { FastifyInstance } from 'fastify'

const TYPES = ['application/json', 'application/merge-patch+json']

/** JSON is the only body; none at all is an empty one, so that each missing field is named. */
export function addBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(TYPES, { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    return parse(request, body as string, done)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.routeOptions.schema?.body) request.body = {}
    done()
  })
}
