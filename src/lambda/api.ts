import awsLambdaFastify from '@fastify/aws-lambda'
import type { Context } from 'aws-lambda'
import { buildApp } from '../app.js'
import { InvalidConfig, readConfig } from '../config.js'
import { openDatabase } from '../dynamo/database.js'
import { createMetrics } from '../plugins/metrics.js'

/** The API as a Lambda function, behind an HTTP API or a function URL. */

/** Its address is open to the world, so it needs an admin token; an instance's own metrics would say little. */
const config = readConfig({ DYNAMODB: 'aws', METRICS: 'off', ...process.env, HOST: '0.0.0.0' })
if (config.dynamodb.kind === 'embedded') {
  throw new InvalidConfig(['DYNAMODB must be aws or an endpoint URL: a Lambda function keeps no data'])
}
const metrics = createMetrics()
const database = await openDatabase(config, metrics.observe)
const app = await buildApp({ config, database, metrics, logger: { level: config.logLevel }, stays: false })

const proxy = awsLambdaFastify(app, { decorateRequest: false })

interface HttpEvent {
  rawPath: string
  rawQueryString: string
}

/** The query string goes in as it was sent: the event's own reading of it cannot tell a comma from a list. */
export function handler({ rawPath, rawQueryString, ...event }: HttpEvent, context: Context) {
  const path = encoded(rawPath)
  const url = rawQueryString ? `${path}?${rawQueryString}` : path
  return proxy({ ...event, rawPath: url, queryStringParameters: undefined }, context)
}

/**
 * A function URL sends the path as the caller wrote it; an HTTP API decodes it, and a `#` in a name would end the path,
 * a tab be dropped. What no encoded path can hold is encoded again; the rest is the same either way.
 */
const encoded = (path: string) =>
  path.replace(/%(?![\da-f]{2})|[^\w.~!$&'()*+,;=:@/%-]+/gi, part => encodeURIComponent(part.toWellFormed()))

await app.ready()
