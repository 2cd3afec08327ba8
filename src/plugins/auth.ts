import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../problems.js'
import { isApi } from './address.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A token of the project that the path names may call this route. */
    projectToken?: boolean
  }
}

/** Who a token speaks for. */
export type Authenticate = (token: string) => Promise<{ project: string } | undefined>

const BEARER = /^bearer +([\x21-\x7e]+) *$/i
const OF_PROJECT = '/v1/projects/:name'
/** The project of an address that no route takes. */
const PROJECT = /^\/v1\/projects\/([^/?]+)/

const unauthorized = (detail: string, error?: string) =>
  new Problem('unauthorized', detail, {
    headers: { 'www-authenticate': `Bearer realm="quintet"${error ? `, error="${error}"` : ''}` }
  })

/** Guards everything below /v1: the admin token opens all, a project's own token what its routes allow it. */
export function addAuth(app: FastifyInstance, adminToken: string, authenticate: Authenticate): void {
  const admin = digest(adminToken)

  async function assertHolder(request: FastifyRequest, token: string): Promise<void> {
    const holder = await authenticate(token)
    if (!holder) throw unauthorized('The token is not known', 'invalid_token')
    assertOwn(request, holder.project)
  }

  app.addHook('onRequest', (request, _reply, done) => {
    if (!isApi(request)) return done()
    const token = tokenOf(request)
    if (!token) return done(unauthorized('Send the header Authorization: Bearer <token>'))
    if (timingSafeEqual(digest(token), admin)) return done()
    assertHolder(request, token).then(() => done(), done)
  })
}

/**
 * A browser cannot set a header on a WebSocket, but it can offer protocols: `bearer.<token>`, or `bearer64.<base64url of
 * the token>` where the token holds characters that a protocol's name may not.
 */
function tokenOf({ headers }: FastifyRequest): string | undefined {
  const [, token] = BEARER.exec(headers.authorization ?? '') ?? []
  if (token || headers.upgrade?.toLowerCase() !== 'websocket') return token
  for (const protocol of (headers['sec-websocket-protocol'] ?? '').split(/\s*,\s*/)) {
    if (protocol.startsWith('bearer.')) return protocol.slice('bearer.'.length)
    if (protocol.startsWith('bearer64.')) return Buffer.from(protocol.slice('bearer64.'.length), 'base64url').toString()
  }
  return undefined
}

/** Another project is 404, so that a token does not tell which names exist. */
function assertOwn(request: FastifyRequest, own: string): void {
  const { url, config } = request.routeOptions
  const [, unrouted] = PROJECT.exec(request.url) ?? []
  const name = url?.startsWith(OF_PROJECT) ? (request.params as { name: string }).name : unrouted
  if (name === undefined) throw new Problem('forbidden')
  if (name !== own) throw new Problem('project-not-found', `There is no project ${name}`)
  if (!config.projectToken) throw new Problem('forbidden')
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
