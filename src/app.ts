import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import helmet from '@fastify/helmet'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import type { Config } from './config.js'
import { createCursors } from './dynamo/cursors.js'
import type { Database } from './dynamo/database.js'
import { type Broker, localBroker } from './live/broker.js'
import { createLive } from './live/live.js'
import type { RedisBrokerOptions } from './live/redis.js'
import { isApi } from './plugins/address.js'
import { addAnswers } from './plugins/answers.js'
import { type Authenticate, addAuth } from './plugins/auth.js'
import { addBodies } from './plugins/bodies.js'
import { addBareAnswers, clientErrorHandler, frameworkErrors } from './plugins/broken-http.js'
import { addDocs } from './plugins/docs.js'
import { addErrors, addMethodNotAllowed } from './plugins/errors.js'
import { addEtags } from './plugins/etag.js'
import { addHealth } from './plugins/health.js'
import { addAbortLog, RequestLog, safeLogger } from './plugins/logging.js'
import type { Metrics } from './plugins/metrics.js'
import { withoutTokens } from './plugins/secrets.js'
import { addSockets, SocketRequest } from './plugins/sockets.js'
import { addValidation } from './plugins/validation.js'
import { Problem } from './problems.js'
import { hostingRoutes } from './routes/hosting.js'
import { layerRoutes } from './routes/layers.js'
import { livePage, liveRoutes } from './routes/live.js'
import { projectRoutes } from './routes/projects.js'
import { realtimeRoutes } from './routes/realtime.js'
import { tenantRoutes } from './routes/tenants.js'
import type { ServiceContext } from './services/context.js'
import { hostingService } from './services/hosting.js'
import { embeddedExpiry } from './services/layer-sweeping.js'
import { layersService } from './services/layers.js'
import { openProjectsStore } from './services/projects-store.js'
import { type RealtimeService, realtimeService } from './services/realtime.js'
import { tenantsService } from './services/tenants.js'

export interface AppOptions {
  config: Config
  database: Database
  metrics: Metrics
  logger?: FastifyServerOptions['logger']
  /** Whether the process stays between requests, as it does unless said otherwise: only then it serves pages and what is live. */
  stays?: boolean
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
  const headers = await securityHeaders()
  const app = Fastify({
    logger: safeLogger(options.logger, config.adminToken),
    logController: new RequestLog(),
    bodyLimit: MEGABYTE,
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    genReqId: requestId,
    routerOptions: { maxParamLength: 8192 },
    http: { IncomingMessage: SocketRequest, requireHostHeader: false },
    frameworkErrors: frameworkErrors(headers, (request, reply) => {
      request.log.info({ req: request, res: reply }, 'request completed')
      metrics.answered(request, reply)
    }),
    clientErrorHandler
  })
  const routes = collectRoutes(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id)
    done()
  })
  endConnectionsOnClose(app)
  addAbortLog(app)
  addBareAnswers(app)
  addErrors(app)
  await addGuards(app, config)
  addBodies(app)
  addValidation(app)
  addAnswers(app)
  addEtags(app)
  answerTogether(app)
  if (config.metrics) metrics.attach(app)
  await addDocs(app, options.stays ?? true)
  const checks = [database.differences]
  addHealth(app, async () => (await Promise.all(checks.map(check => check()))).flat(), now)

  const context = { cursors: createCursors(config.cursorKey ?? config.adminToken), now, randomBytes: random }
  const serves = (domain: Config['domains'][number]) => config.domains.includes(domain)
  let authenticate: Authenticate = async () => undefined

  if (serves('hosting')) {
    const service = hostingService(database.dynamo('hosting'), config.tables, context)
    await app.register(hostingRoutes, { prefix: '/v1', service })
  }
  if (serves('layers')) {
    const service = layersService(database.dynamo('layers'), config.tables.layers, config.layers, context)
    await app.register(layerRoutes, { prefix: '/v1', service })
    const expiry = embeddedExpiry(database.dynamo('layers'), config.tables.layers, now, app.log)
    const stop = database.engine?.onExpired(config.tables.layers, expiry)
    app.addHook('onClose', async () => void stop?.())
  }
  if (serves('tenants')) {
    const service = await tenantsService(database.dynamo('tenants'), config.tables.tenants, context, config.tenants)
    app.addHook('onClose', service.close)
    await app.register(tenantRoutes, { prefix: '/v1', service })
  }
  if (serves('projects')) {
    const watch = () => metrics.watchMigration((...told) => app.log.warn(...told), config.projects.store, now)
    const store = await openProjectsStore(config, database.dynamo('projects'), context, watch)
    checks.push(store.differences)
    app.addHook('onClose', store.close)
    authenticate = store.service.authenticate
    await app.register(projectRoutes, { prefix: '/v1', service: store.service })
  }
  if (serves('realtime')) {
    await addRealtime(app, options, context)
  }
  if (config.adminToken) addAuth(app, config.adminToken, token => authenticate(token))
  addMethodNotAllowed(app, routes)
  return app
}

/** REST and live, over one service whose writes reach the subscribers of every node. */
async function addRealtime(app: FastifyInstance, options: AppOptions, context: ServiceContext): Promise<void> {
  const { config, database, stays = true } = options
  const { redisUrl: url } = config.realtime
  const channel = `quintet:realtime:${config.tables.realtime}`
  const { now } = context
  const broker = url ? await viaRedis({ url, channel, now, log: app.log }) : localBroker(now)
  const realtime = realtimeService(database.dynamo('realtime'), config.tables.realtime, {
    ...context,
    publish: broker.publish
  })
  await app.register(realtimeRoutes, { prefix: '/v1', service: realtime })
  if (stays) await addLive(app, options, context, realtime, broker)
  else app.addHook('onClose', broker.close)
}

async function addLive(
  app: FastifyInstance,
  { config, metrics: { live: metrics } }: AppOptions,
  { now, randomBytes }: ServiceContext,
  realtime: RealtimeService,
  broker: Broker
): Promise<void> {
  const { liveTtl: ttl, liveSubscriptions: maxSubscriptions } = config.realtime
  const { log } = app
  const live = createLive({ service: realtime, broker, metrics, ttl, maxSubscriptions, now, randomBytes, log })
  await addSockets(app, live.close)
  await app.register(liveRoutes, { prefix: '/v1', service: { realtime, live, metrics, config, now } })
  await app.register(livePage, { service: undefined })
}

/** Loaded only where it is used, like all that few servers need: a start is paid for by every one of them. */
async function viaRedis(options: RedisBrokerOptions): Promise<Broker> {
  const { redisBroker } = await import('./live/redis.js')
  return redisBroker(options)
}

/** A connection that is answered while the app closes would otherwise stay open for its next request, and hold it up. */
function endConnectionsOnClose(app: FastifyInstance): void {
  let isClosing = false
  app.addHook('preClose', done => {
    isClosing = true
    done()
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    done(null, payload)
  })
}

/**
 * Writes the answers of one turn of the event loop one after the other, at its end. An answer that is written on its own,
 * between the work for others, wakes a reader that has gone to sleep meanwhile, which costs more than the answer; of those
 * that come together, the first wakes the reader for all. To be called after whatever else looks at answers.
 */
function answerTogether(app: FastifyInstance): void {
  let answers: (() => void)[] = []
  const writeAll = () => {
    const due = answers
    answers = []
    for (const write of due) write()
  }
  app.addHook('onSend', (_request, _reply, payload, done) => {
    if (answers.length === 0) setImmediate(writeAll)
    answers.push(() => {
      try {
        done(null, payload)
      } catch (error) {
        done(error as Error)
      }
    })
  })
}

function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  const isOne = typeof given === 'string' && /^[\w.:/+=@-]{1,128}$/.test(given)
  // It is logged and answered, which a token must not be.
  return isOne && withoutTokens(given) === given ? given : randomUUID()
}

async function addGuards(app: FastifyInstance, { corsOrigin, rateLimit: max }: Config): Promise<void> {
  if (corsOrigin.length > 0) {
    const allowed = {
      origin: corsOrigin.includes('*') ? '*' : [...corsOrigin],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: EXPOSED_HEADERS
    }
    await app.register(import('@fastify/cors'), {
      // An OPTIONS that is no preflight of a browser goes on to its route.
      delegator: ({ headers }, done) =>
        done(null, { ...allowed, preflight: Boolean(headers.origin && headers['access-control-request-method']) })
    })
  }
  if (max !== undefined) {
    await app.register(import('@fastify/rate-limit'), {
      global: false,
      max,
      timeWindow: '1 minute',
      allowList: request => !isApi(request),
      errorResponseBuilder: () => new Problem('too-many-requests')
    })
    // Not route by route, where it would come after the check of the token and spare whoever guesses.
    app.addHook('onRequest', app.rateLimit())
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
    if (/^\/docs\/|\*/.test(url)) return
    const methods = routes.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    routes.set(url, methods)
  })
  return routes
}
