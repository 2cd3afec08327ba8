import { Ajv, type AnySchema, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import fastJson, { type Schema } from 'fast-json-stringify'
import type { FastifyInstance } from 'fastify'
import { type FieldError, Problem } from '../problems.js'
import { components, NoQuery } from '../schemas/common.js'

const MAX_ERRORS = 50
const MAX_NAME_BYTES = 65_535
const MAX_DEPTH = 32

/**
 * One validator for bodies, which are taken as they are, and one for texts, which become their declared type. Schemas are
 * compiled when they are first needed: all of them together would take seconds of every start.
 */
export function addValidation(app: FastifyInstance): void {
  const strict = validator(false)
  const coercing = validator('array')
  for (const schema of components()) app.addSchema(schema)

  app.setValidatorCompiler(({ schema, httpPart }) => {
    const compile = once(() => (httpPart === 'body' ? strict : coercing).compile(schema as AnySchema))
    return data => {
      const validate = compile()
      if (validate(data)) return true
      return { error: invalidRequest(validate.errors ?? [], httpPart ?? 'request') }
    }
  })
  const known = Object.fromEntries(components().map(schema => [(schema as { $id: string }).$id, schema]))
  app.setSerializerCompiler(({ schema, httpStatus }) => {
    // Problems are few and small, and come with members of their own.
    if (!httpStatus?.startsWith('2')) return data => JSON.stringify(data)
    const compile = once(() => fastJson(schema as Schema, { schema: known as Record<string, Schema> }))
    return data => compile()(data)
  })
  // A parameter that no route knows is refused where none are known, too.
  app.addHook('onRoute', route => {
    if (route.url.startsWith('/v1') && route.schema?.operationId) route.schema.querystring ??= NoQuery
  })
  app.addHook('preValidation', (request, _reply, done) => {
    try {
      if (typeof request.body === 'object' && request.body !== null) assertStorable(request.body)
      done()
    } catch (error) {
      done(error as Problem)
    }
  })
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

function validator(coerceTypes: boolean | 'array'): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    coerceTypes,
    useDefaults: true,
    strict: false,
    // The linter of openapi.yaml checks our schemas; checking them here would take half of the time of building an app.
    meta: false,
    validateSchema: false,
    schemas: components() as AnySchema[]
  })
  // The module is CommonJS: its default export is typed as a namespace under NodeNext.
  ;(addFormats as unknown as (ajv: Ajv) => void)(ajv)
  return ajv
}

function invalidRequest(errors: ErrorObject[], part: string): Problem {
  const fields = errors.slice(0, MAX_ERRORS).map(error => fieldError(error, part === 'querystring' ? 'query' : part))
  return new Problem('invalid-request', fields.map(({ path, message }) => `${path} ${message}`).join('; '), {
    errors: fields
  })
}

function fieldError({ keyword, instancePath, params, message }: ErrorObject, part: string): FieldError {
  const at = part + instancePath
  if (keyword === 'required') return { path: `${at}/${params.missingProperty}`, message: 'is required' }
  if (keyword === 'additionalProperties') {
    return { path: `${at}/${params.additionalProperty}`, message: 'is not a known field' }
  }
  if (keyword === 'enum') return { path: at, message: `must be one of ${params.allowedValues.join(', ')}` }
  return { path: at, message: message ?? 'is not valid' }
}

/** Refuses what JSON can say and DynamoDB cannot store, wherever in a body it stands. */
export function assertStorable(body: object): void {
  let level: unknown[] = [body]
  // The body itself is the item, so its members are at the first level.
  for (let depth = 0; level.length > 0; depth++) {
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value === 'object' && value !== null) {
        if (depth >= MAX_DEPTH) throw new Problem('nesting-too-deep', `Values may be nested ${MAX_DEPTH} levels deep`)
        for (const name in value) {
          assertName(name)
          next.push((value as Record<string, unknown>)[name])
        }
      } else if (typeof value === 'string') assertText(value)
      else if (typeof value === 'number') assertNumber(value)
    }
    level = next
  }
}

/** DynamoDB has no names that are empty or too long; `__proto__`, copied as a member, would become the copy's prototype. */
function assertName(name: string): void {
  if (name === '__proto__') throw new Problem('invalid-request', 'The body holds the name __proto__')
  if (name === '') throw new Problem('invalid-request', 'The body holds an empty name')
  if (name.length * 3 > MAX_NAME_BYTES && Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw new Problem('invalid-request', `The body holds a name of more than ${MAX_NAME_BYTES} bytes`)
  }
  assertText(name)
}

function assertText(text: string): void {
  if (!text.isWellFormed()) throw new Problem('invalid-request', 'The body holds half of a surrogate pair')
}

function assertNumber(value: number): void {
  const size = Math.abs(value)
  if (size >= 1e126 || (size !== 0 && size < 1e-130)) {
    throw new Problem('invalid-request', 'The body holds a number beyond what DynamoDB stores')
  }
}
