import type { FastifyInstance, FastifySchema } from 'fastify'
import type { ProblemCode } from '../problems.js'
import { problemAnswers } from '../schemas/common.js'

type Answers = Record<string, { description?: string; $ref?: string; content?: object }>

const BODY: ProblemCode[] = ['invalid-json', 'nesting-too-deep', 'body-too-large', 'unsupported-media-type']
const NOT_MODIFIED = { type: 'null', description: 'It is what `If-None-Match` names; there is no body.' }

/** Documents what a route answers because of what it is, whatever its service does. */
export function addAnswers(app: FastifyInstance): void {
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (!url.startsWith('/v1') || !schema?.operationId) return
    const answers = (schema.response ?? {}) as Answers
    // A HEAD route comes with the schema of its GET.
    if (answers[403]) return
    const codes: ProblemCode[] = ['forbidden', ...(schema.body ? BODY : [])]
    if (url.includes('/:') || schema.body) codes.push('invalid-key')
    if (url.startsWith('/v1/projects/:name')) codes.push('project-not-found')
    schema.response = withProblems(answers, codes)
    if (method === 'GET' && isResource(answers['200'])) (schema.response as Answers)[304] = NOT_MODIFIED
    if (method === 'PATCH') (schema as FastifySchema & { consumes: string[] }).consumes = PATCH_TYPES
  })
}

const PATCH_TYPES = ['application/json', 'application/merge-patch+json']

/** Lists and streams have no entity tag. */
const isResource = (answer: Answers[string] | undefined) =>
  answer?.$ref !== undefined && !/Page#?$/.test(answer.$ref) && answer.content === undefined

function withProblems(answers: Answers, codes: ProblemCode[]): Answers {
  const all: Answers = { ...answers }
  for (const [status, { description, content }] of Object.entries(problemAnswers(codes) as Answers)) {
    const before = answers[status]?.description
    if (description && before?.includes(description)) continue
    all[status] = { description: [before, description].filter(Boolean).join(' '), content }
  }
  return all
}
