import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import type { Config } from './config.js'
import { createCursors } from './dynamo/cursors.js'
import type { Database } from './dynamo/database.js'
import { type Authenticate, addAuth } from './plugins/auth.js'
import { addBodies } from './plugins/bodies.js'
import { addDocs } from './plugins/docs.js'
import { addErrors, addMethodNotAllowed, frameworkErrors } from './plugins/errors.js'
import { addEtags } from './plugins/etag.js'
import { addHealth } from './plugins/health.js'
import type { Metrics } from './plugins/metrics.js'
import { addValidation } from './plugins/validation.js'
import { Problem } from './problems.js'
import { projectRoutes } from './routes/projects.js'
import { projectsService } from './services/projects.js'

export interface AppOptions {
  config: Config
  database: Database
  metrics: Metrics
  logger?: FastifyServerOptions['logger']
  /** Time and randomness, for tests that hold them still. */
  now?: () => number
  random?: (size: number) => Buffer
}

const MEGABYTE = 1024 * 1024
const EXPOSED_HEADERS = ['ETag', 'Link', 'Location', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id']

const csp = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  fontSrc: ["'self'"],
  connectSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'self'"],
  frameAncestors: ["'none'"]
}

/** Everything wired, nothing started. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { config, database, metrics, now = Date.now, random = randomBytes } = options
  const app = Fastify({
    logger: options.logger ?? false,
    bodyLimit: MEGABYTE,
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    genReqId: requestId,
    routerOptions: { maxParamLength: 8192 },
    frameworkErrors
  })
  const routes = collectRoutes(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  addErrors(app)
  await addGuards(app, config)
  addBodies(app)
  addValidation(app)
  addEtags(app)
  if (config.metrics) metrics.attach(app)
  await addDocs(app)
  addHealth(app, database.differences, now)

  const context = { cursors: createCursors(config.cursorKey ?? config.adminToken), now, randomBytes: random }
  const serves = (domain: Config['domains'][number]) => config.domains.includes(domain)
  let authenticate: Authenticate = async () => undefined

  if (serves('projects')) {
    const service = projectsService(database.dynamo('projects'), config.tables.projects, context)
    authenticate = service.authenticate
    await app.register(projectRoutes, { prefix: '/v1', service })
  }
  if (config.adminToken) addAuth(app, config.adminToken, token => authenticate(token))
  addMethodNotAllowed(app, routes)
  return app
}

function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.:/+=@-]{1,128}$/.test(given) ? given : randomUUID()
}

async function addGuards(app: FastifyInstance, { corsOrigin, rateLimit: max }: Config): Promise<void> {
  const headers = await securityHeaders()
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
  if (corsOrigin.length > 0) {
    await app.register(cors, {
      origin: corsOrigin.includes('*') ? '*' : [...corsOrigin],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: EXPOSED_HEADERS
    })
  }
  if (max !== undefined) {
    await app.register(rateLimit, {
      max,
      timeWindow: '1 minute',
      allowList: request => !request.url.startsWith('/v1'),
      errorResponseBuilder: () => new Problem('too-many-requests')
    })
  }
}

/** Helmet's headers, asked for once: they are the same for every answer, and it makes them anew for each. */
async function securityHeaders(): Promise<Record<string, string>> {
  const app = Fastify()
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: csp },
    strictTransportSecurity: false
  })
  app.get('/', async (_request, reply) => reply.code(204).send())
  const { connection, date, ...headers } = (await app.inject('/')).headers
  return headers as Record<string, string>
}

/** The methods of each address, as its routes are added. */
function collectRoutes(app: FastifyInstance): Map<string, Set<string>> {
  const routes = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    if (!/^\/(v1|healthz|readyz)/.test(url)) return
    const methods = routes.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    routes.set(url, methods)
  })
  return routes
}
