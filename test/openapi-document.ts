import type { FastifyInstance } from 'fastify'

/** The OpenAPI document as clients of it see it. */

export interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  minimum?: number
  maximum?: number
}

interface Parameter {
  name: string
  in: string
  required?: boolean
  example?: unknown
  schema: Schema
}

export interface Operation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { description?: string; content?: Record<string, { schema: Schema }> }>
}

export interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

export async function documentOf(app: FastifyInstance): Promise<Document> {
  await app.ready()
  return app.swagger() as unknown as Document
}

/** Every operation below /v1 that answers at once. */
export function operationsOf(document: Document) {
  return Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/v1'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation }))
    )
    .filter(({ operation }) => {
      const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]
      return success && !success.content?.['text/event-stream']
    })
}

/** The request that Swagger UI shows for an operation before a user changes anything, without optional parameters. */
export function exampleRequest(document: Document, path: string, operation: Operation) {
  let url = path
  const query: string[] = []
  for (const { name, in: place, required, example, schema } of operation.parameters ?? []) {
    const value = encodeURIComponent(String(example ?? exampleOf(document, schema)))
    if (place === 'path') url = url.replace(`{${name}}`, value)
    if (place === 'query' && required) query.push(`${name}=${value}`)
  }
  const schema = operation.requestBody?.content['application/json']?.schema
  return {
    url: url + (query.length ? `?${query.join('&')}` : ''),
    body: schema && exampleOf(document, schema)
  }
}

const FILLERS: Record<string, unknown> = { string: 'string', integer: 0, number: 0, boolean: true, object: {} }

/** What Swagger UI makes of a schema: its example, or all of its members. */
function exampleOf(document: Document, given: Schema): unknown {
  const schema = given.$ref ? (document.components.schemas[given.$ref.split('/').at(-1) as string] as Schema) : given
  if (schema.examples?.length) return schema.examples[0]
  const fixed = schema.const ?? schema.default ?? schema.enum?.[0]
  if (fixed !== undefined) return fixed
  if (schema.anyOf?.[0]) return exampleOf(document, schema.anyOf[0])
  if (schema.properties) {
    return Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, exampleOf(document, one)]))
  }
  if (schema.type === 'array') return [exampleOf(document, schema.items ?? {})]
  return FILLERS[[schema.type].flat()[0] ?? ''] ?? null
}
