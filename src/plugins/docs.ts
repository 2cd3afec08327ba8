import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { stringify } from 'yaml'

const description = `Five documented DynamoDB designs behind one REST API.

Lists are paged by \`limit\` and \`cursor\`. Single resources carry an \`ETag\`; \`If-Match\` makes a write conditional.
Errors are \`application/problem+json\` (RFC 9457). If the server has an admin token, send it as a bearer token.`

const tags = [
  { name: 'hosting', description: 'Deployments and aliases of Next.js sites' },
  { name: 'layers', description: 'A registry of Lambda layers and their builds' },
  { name: 'tenants', description: 'Queues for tenants, and the audit of how they came to be' },
  { name: 'projects', description: 'Cello’s projects, tokens and targets' },
  { name: 'realtime', description: 'Shared state, subscriptions, connections and users' },
  { name: 'operations', description: 'Health of the server' }
]

interface Operation {
  parameters?: { required?: boolean; in: string; schema?: { default?: unknown } }[]
}

/** OpenAPI 3.1 from the routes, and if wanted Swagger UI over it, without anything from outside. */
export async function addDocs(app: FastifyInstance, hasPage: boolean): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Quintet', version: '1.0.0', description, license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: '/', description: 'This server' }],
      tags,
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'The admin token, or a token of the project in the path.'
          }
        }
      },
      security: [{ bearer: [] }]
    },
    convertConstToEnum: false,
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
    transformObject: document => ('openapiObject' in document ? withoutDefaultsRequired(document.openapiObject) : {})
  })
  if (hasPage) await addPage(app)
  app.get('/openapi.json', { schema: { hide: true }, logLevel: 'warn' }, async () => app.swagger())
  app.get('/openapi.yaml', { schema: { hide: true }, logLevel: 'warn' }, async (_request, reply) => {
    reply.type('application/yaml; charset=utf-8')
    return openapiYaml(app)
  })
}

/** Loaded only here: its files cannot be bundled for Lambda. */
async function addPage(app: FastifyInstance): Promise<void> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: false,
    uiConfig: {
      layout: 'BaseLayout',
      validatorUrl: null,
      tryItOutEnabled: true,
      persistAuthorization: true,
      deepLinking: true
    },
    theme: { title: 'Quintet' }
  })
}

/** The document as the file `openapi.yaml` holds it. */
export function openapiYaml(app: FastifyInstance): string {
  return stringify(app.swagger(), { aliasDuplicateObjects: false, lineWidth: 0 })
}

/** A query parameter with a default may be left out, which the generator does not see. */
function withoutDefaultsRequired<T extends { paths?: object }>(document: T): T {
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path as Record<string, Operation>)) {
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in === 'query' && parameter.schema?.default !== undefined) parameter.required = false
      }
    }
  }
  return document
}
