import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, RawServerDefault } from 'fastify'
import type { Page } from '../dynamo/cursors.js'
import { Problem } from '../problems.js'
import type { Preconditions } from '../services/context.js'

/** The answers that all domains give in one way. */

type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>

/** The routes of a domain: a plugin over its service. */
export type Routes<S> = (app: App, options: { service: S }) => Promise<void>

/** 201 with the address of what was made, given by its path below /v1. */
export function created<T>(reply: FastifyReply, path: string[], body: T): T {
  reply.code(201).header('location', `/v1/${path.map(encodeURIComponent).join('/')}`)
  return body
}

/** 204. */
export function noContent(reply: FastifyReply): FastifyReply {
  return reply.code(204).send()
}

/** A page with the link to the next one. */
export function page<T>(request: { url: string }, reply: FastifyReply, body: Page<T>): Page<T> {
  const next = nextLink(request, body)
  if (next !== undefined) reply.header('link', `<${next}>; rel="next"`)
  return body
}

/** A path whose parameters, if any, are plain and no cursor. */
const PLAIN = /^(?:\/[\w.~%-]+)+(?:\?(?!(?:.*&)?cursor)[\w.~&=-]+)?$/

/** The address of the page after this one, if there is one. */
export function nextLink({ url }: { url: string }, { cursor }: Page<unknown>): string | undefined {
  if (cursor === null) return undefined
  if (PLAIN.test(url)) return `${url}${url.includes('?') ? '&' : '?'}cursor=${cursor}`
  const next = new URL(url, 'http://localhost')
  next.searchParams.set('cursor', cursor)
  return next.pathname + next.search
}

/** What a conditional write demands. */
export function preconditions(request: { headers: object }): Preconditions {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers as Record<string, string | undefined>
  // Something there and nothing there: no write can keep to both.
  if (ifMatch !== undefined && ifNoneMatch === '*') throw new Problem('precondition-failed')
  return { ifMatch, ifNoneMatch }
}

/** Says that the answer depends on a header of the request, beside those that it depends on already. */
export function varyBy(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary')
  reply.header('vary', before === undefined ? name : `${before}, ${name}`)
}
