import type { FastifyInstance } from 'fastify'
import { etagOf, matchesWeakly } from '../etag.js'
import { isApi } from './address.js'

const TAGGED = new Set(['GET', 'HEAD', 'PUT', 'PATCH'])

/** An `ETag` on every single resource, and 304 for a reader who has it already. */
export function addEtags(app: FastifyInstance): void {
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const isResource =
      TAGGED.has(request.method) &&
      reply.statusCode < 300 &&
      isApi(request) &&
      typeof payload === 'object' &&
      payload !== null &&
      !('items' in payload)
    if (isResource && !reply.hasHeader('etag')) reply.header('etag', etagOf(payload))
    done(null, payload)
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const known = request.headers['if-none-match']
    const tag = reply.getHeader('etag')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (!known || !isRead || reply.statusCode !== 200 || typeof tag !== 'string' || !matchesWeakly(known, tag))
      return done(null, payload)
    reply.code(304).removeHeader('content-type').removeHeader('content-length')
    done(null, null)
  })
}
