import Type, { type Static, type TObject, type TSchema } from 'typebox'
import { IDENTIFIER } from '../dynamo/keys.js'
import { catalogue, type ProblemCode } from '../problems.js'

/** What requests and answers of all domains share. A schema with a `$id` is a named component of the OpenAPI document. */

const named = new Map<string, TSchema>()

/** Gives a schema its name in the OpenAPI document, and the way to refer to it. */
export function component<T extends TSchema>($id: string, schema: T): T {
  named.set($id, { ...schema, $id })
  return Type.Unsafe<Static<T>>(Type.Ref(`${$id}#`)) as unknown as T
}

/** Every named component declared so far. */
export const components = (): TSchema[] => [...named.values()]

/** An object that refuses members it does not know. */
export function strict<T extends Record<string, TSchema>>(properties: T, options: object = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

export function identifier(description: string, examples: string[]) {
  return Type.String({ description, examples, pattern: IDENTIFIER, minLength: 1, maxLength: 1024 })
}

export const Timestamp = (description: string) => Type.String({ description, examples: ['2026-01-31T12:00:00.000Z'] })

/** The query of what takes none. */
export const NoQuery = strict({})

/** The query of every list. */
export const PageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 25, description: 'How many items a page holds at most.' })
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 8192, description: 'Where to go on: the `cursor` of the page before.' })
  )
}

/** The answer of every list. */
export function pageOf<T extends TSchema>(name: string, item: T) {
  return component(
    name,
    Type.Object(
      {
        items: Type.Array(item),
        cursor: Type.Union([Type.String(), Type.Null()], { description: 'The next page, or null at the end.' })
      },
      { description: 'A page of a list.' }
    )
  )
}

const FieldProblem = component(
  'FieldProblem',
  Type.Object(
    { path: Type.String({ examples: ['body/name'] }), message: Type.String({ examples: ['is required'] }) },
    { description: 'An offending field of a request.' }
  )
)

/** RFC 9457. */
export const ProblemBody = component(
  'Problem',
  Type.Object(
    {
      type: Type.String({
        description: 'The problem’s kind, as a reference.',
        examples: ['/problems/invalid-request']
      }),
      title: Type.String({ examples: ['The request is not valid'] }),
      status: Type.Integer({ examples: [400] }),
      detail: Type.String({ examples: ['body/name is required'] }),
      code: Type.String({ examples: ['invalid-request'] }),
      instance: Type.String({ description: 'The request id, as in the logs.', examples: ['req-1'] }),
      errors: Type.Optional(
        Type.Array(FieldProblem, {
          description: 'Each offending field of the request.'
        })
      )
    },
    { description: 'What went wrong (RFC 9457).', additionalProperties: true }
  )
)

const everyRoute: ProblemCode[] = ['invalid-request', 'unauthorized', 'too-many-requests', 'database-unavailable']

/** The problem answers of a route below /v1: the given ones and those that each of them can give, by status. */
export function problems(...codes: ProblemCode[]): Record<number, object> {
  return problemAnswers([...everyRoute, ...codes])
}

export function problemAnswers(codes: ProblemCode[]): Record<number, object> {
  const byStatus = new Map<number, string[]>()
  for (const code of codes) {
    const [status, title] = catalogue[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${title}.`])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, lines]) => [
      status,
      { description: lines.join(' '), content: { 'application/problem+json': { schema: ProblemBody } } }
    ])
  )
}

/** The headers of a conditional write. */
export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ maxLength: 2048, description: 'The `ETag` of what is to be written over; if it has changed, 412.' })
  )
})

export const IfMatchOrNone = Type.Object({
  ...IfMatch.properties,
  'if-none-match': Type.Optional(
    Type.Literal('*', { description: '`*` writes only if there is nothing yet; otherwise 412.' })
  )
})

/** The answer without a body. */
export const NoContent = Type.Null({ description: 'Done; there is no body.' })
