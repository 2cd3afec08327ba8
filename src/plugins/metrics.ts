import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Observer } from '../dynamo/client.js'
import { type Log, watchMigration } from './migration-metrics.js'

/** Prometheus metrics of one app; nothing is shared between apps in one process. */
export function createMetrics() {
  const register = new Registry()
  const registers = [register]
  const requests = new Histogram({
    name: 'quintet_http_request_duration_seconds',
    help: 'HTTP requests by route and status, with their latency',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers
  })
  const dynamoRequests = new Counter({
    name: 'quintet_dynamodb_requests_total',
    help: 'Requests to DynamoDB by operation, table and outcome',
    labelNames: ['operation', 'table', 'outcome'],
    registers
  })
  const dynamoUnits = new Counter({
    name: 'quintet_dynamodb_consumed_capacity_units_total',
    help: 'Capacity units that DynamoDB reported as consumed',
    labelNames: ['operation', 'table'],
    registers
  })
  const dynamoSeconds = new Histogram({
    name: 'quintet_dynamodb_request_duration_seconds',
    help: 'Latency of requests to DynamoDB',
    labelNames: ['operation'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers
  })

  const observe: Observer = ({ operation, tables, units, seconds, error }) => {
    const table = tables.join(',')
    dynamoRequests.inc({ operation, table, outcome: error ?? 'ok' })
    if (units > 0) dynamoUnits.inc({ operation, table }, units)
    dynamoSeconds.observe({ operation }, seconds)
  }

  /** Measures a request that was answered. */
  function answered(request: FastifyRequest, reply: FastifyReply): void {
    const route = request.is404 ? '(none)' : (request.routeOptions?.url ?? '(none)')
    requests.observe({ method: request.method, route, status: reply.statusCode }, (reply.elapsedTime || 0) / 1000)
  }

  /** Serves /metrics and measures requests and the event loop. */
  function attach(app: FastifyInstance): void {
    addProcessGauges(app, register)
    app.addHook('onResponse', (request, reply, done) => {
      answered(request, reply)
      done()
    })
    app.get('/metrics', { schema: { hide: true }, logLevel: 'warn' }, async (_request, reply) => {
      reply.type(register.contentType)
      return register.metrics()
    })
  }

  return {
    register,
    observe,
    answered,
    attach,
    live: liveMetrics(register),
    watchMigration: (log: Log, phase: string, now: () => number) => watchMigration(register, log, phase, now)
  }
}

export type Metrics = ReturnType<typeof createMetrics>

const gauges = {
  connections: 'Live connections of this node',
  subscriptions: 'Live subscriptions of this node',
  waiting: 'Values that wait for slow subscribers of this node, at most one a subscription'
}

/** What happens on live connections: sockets and streams of server-sent events. */
function liveMetrics(register: Registry) {
  const registers = [register]
  const messages = new Counter({
    name: 'quintet_live_messages_total',
    help: 'Messages of live connections: requests that came in, values that went out, requests that were refused',
    labelNames: ['direction'],
    registers
  })
  const lag = new Histogram({
    name: 'quintet_live_lag_seconds',
    help: 'From the write of a value to the moment the network took it for a subscriber',
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers
  })
  /** Adds the gauges, with a way to look at what they show. */
  const collect = (look: () => Record<keyof typeof gauges, number>) => {
    for (const [what, help] of Object.entries(gauges) as [keyof typeof gauges, string][]) {
      new Gauge({
        name: `quintet_live_${what}`,
        help,
        registers,
        collect() {
          this.set(look()[what])
        }
      })
    }
  }
  return { messages, lag, collect }
}

export type LiveMetrics = ReturnType<typeof liveMetrics>

function addProcessGauges(app: FastifyInstance, register: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  app.addHook('onClose', async () => {
    delay.disable()
  })
  new Gauge({
    name: 'quintet_event_loop_lag_seconds',
    help: 'Delay of the event loop since the last look, by quantile',
    labelNames: ['quantile'],
    registers: [register],
    collect() {
      for (const quantile of [50, 99]) this.set({ quantile: String(quantile / 100) }, delay.percentile(quantile) / 1e9)
      delay.reset()
    }
  })
  new Gauge({
    name: 'quintet_resident_memory_bytes',
    help: 'Resident memory of the process',
    registers: [register],
    collect() {
      this.set(process.memoryUsage.rss())
    }
  })
}
