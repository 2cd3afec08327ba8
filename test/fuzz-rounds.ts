import { Ajv } from 'ajv'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import type { Test as TapTest } from 'tap'
import { start } from './helpers.js'
import { type Document, documentOf, type Operation, operationsOf, type Schema } from './openapi-document.js'

/** Requests made from the OpenAPI document, right, nearly right and wrong; whatever comes, the answer is documented. */

/** What requests are made from: the document, and values to take for members and parameters of some names. */
export interface Source extends Document {
  known?: Record<string, unknown[]>
}

const odd = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    '',
    ' ',
    '#',
    'a#b',
    '..',
    '/',
    '%',
    '\u0000',
    '\ud800',
    '💥',
    'é'.repeat(700),
    '__proto__',
    'null',
    '*',
    '-1',
    '1e400'
  ),
  fc.jsonValue({ maxDepth: 3 })
)

function anyValue(source: Source, schema: Schema, name = ''): fc.Arbitrary<unknown> {
  const known = source.known?.[name]
  if (known) return fc.constantFrom(...known)
  if (schema.$ref) return anyValue(source, source.components.schemas[schema.$ref.split('/').at(-1) as string] ?? {})
  const right = rightValue(source, schema)
  return fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: odd })
}

function rightValue(source: Source, schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(one => anyValue(source, one)))
  if (schema.properties) {
    const fields = Object.entries(schema.properties).map(([name, one]) => [name, anyValue(source, one, name)] as const)
    return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] })
  }
  if (schema.examples?.length) return fc.constantFrom(...schema.examples)
  switch ([schema.type].flat()[0]) {
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? -10, max: Math.min(schema.maximum ?? 1000, 2 ** 31) })
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(anyValue(source, schema.items ?? {}), { maxLength: 3 })
    case 'string':
      return fc.constantFrom('alpha1', 'beta2', '2030-01-01T00:00:00Z', '1.2.3', 'https://example.com/x')
    default:
      return fc.jsonValue({ maxDepth: 3 })
  }
}

const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const encoded = (value: unknown) => encodeURIComponent(text(value).toWellFormed()) || '%20'

/** Parameters with the ids of the examples in bodies, so that requests meet what others made. */
const withExample = ({ schema, example }: { schema: Schema; example?: unknown }): Schema =>
  example === undefined ? schema : { ...schema, examples: [example, example, example, ...(schema.examples ?? [])] }

/** One request to an operation. */
export function requestTo(source: Source, path: string, method: string, operation: Operation) {
  const parameters = (operation.parameters ?? []).map(p =>
    fc.tuple(fc.constant(p), anyValue(source, withExample(p), p.name), fc.boolean())
  )
  const schema = operation.requestBody?.content['application/json']?.schema
  const body = schema ? fc.option(anyValue(source, schema), { freq: 20, nil: undefined }) : fc.constant(undefined)
  return fc.record({ values: fc.tuple(...parameters), body }).map(({ values, body }) => {
    let url = path
    const query: string[] = []
    const headers: Record<string, string> = {}
    for (const [{ name, in: place }, value, isSent] of values) {
      if (place === 'path') url = url.replace(`{${name}}`, encoded(value))
      else if (place === 'query' && isSent) query.push(`${name}=${encoded(value)}`)
      else if (place === 'header' && isSent) headers[name] = text(value).replace(/[^\x20-\x7e]/g, '?')
    }
    const payload = body === undefined ? undefined : JSON.stringify(body)
    if (payload !== undefined) headers['content-type'] = 'application/json'
    return { method, url: url + (query.length ? `?${query.join('&')}` : ''), headers, payload }
  })
}

/** Checks answers against the document. */
export function shapesOf(document: Document) {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'openapi', components: document.components })
  return (operation: Operation, answer: Answer, said: string) =>
    assertShape(ajv, operation.responses[String(answer.statusCode)], answer, said)
}

/** Sends `runs` requests to each operation below /v1, and checks each answer against the document. */
export async function fuzz(t: TapTest, runs: number, seed: number): Promise<void> {
  const { app } = await start(t)
  const document = await documentOf(app)
  const assertDocumented = shapesOf(document)
  const answers = new Map<number, number>()
  for (const { path, method, operation } of operationsOf(document)) {
    const property = fc.asyncProperty(requestTo(document, path, method, operation), async request => {
      const answer = await app.inject(request as InjectOptions)
      const status = answer.statusCode
      answers.set(status, (answers.get(status) ?? 0) + 1)
      const said = `${request.method} ${request.url} ${request.payload} gave ${status} ${answer.body}`
      if (status >= 500 && status !== 502) throw new Error(said)
      // An address such as `/v1/users/..` is another one by the time it comes.
      const isGeneral = [405, 414].includes(status) || (status === 404 && answer.json().code === 'not-found')
      if (!operation.responses[String(status)] && !isGeneral) throw new Error(`undocumented: ${said}`)
      assertDocumented(operation, answer, said)
    })
    await fc.assert(property, { numRuns: runs, seed })
  }
  t.ok((answers.get(200) ?? 0) > 0 && (answers.get(400) ?? 0) > 0, JSON.stringify([...answers].sort()))
}

interface Answer {
  headers: Record<string, unknown>
  body: string
  statusCode: number
}

function assertShape(
  ajv: Ajv,
  documented: Operation['responses'][string] | undefined,
  answer: Answer,
  said: string
): void {
  const [type = ''] = String(answer.headers['content-type'] ?? '').split(';')
  if (answer.statusCode >= 400) {
    if (type !== 'application/problem+json') throw new Error(`not a problem: ${said}`)
    if (JSON.parse(answer.body).status !== answer.statusCode) throw new Error(`another status inside: ${said}`)
  }
  const schema = documented?.content?.[type]?.schema
  if (!schema || !/json$/.test(type)) return
  const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components'))
  if (!ajv.validate(local, JSON.parse(answer.body))) throw new Error(`${ajv.errorsText()}: ${said}`)
}
