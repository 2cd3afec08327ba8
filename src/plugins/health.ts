import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { problemAnswers } from '../schemas/common.js'

const CACHE_MS = 1000

/** `/healthz` says that the process runs, `/readyz` that DynamoDB has the tables it needs. */
export function addHealth(app: FastifyInstance, differences: () => Promise<string[]>, now: () => number): void {
  let asked = Number.NEGATIVE_INFINITY
  let answer: Promise<string[]> = Promise.resolve([])
  /** Probes come often and from many places; DescribeTable is not made for that. */
  const cached = () => {
    if (now() - asked < CACHE_MS && now() >= asked) return answer
    asked = now()
    answer = differences().catch(error => [`DynamoDB cannot be asked: ${error.name}`])
    return answer
  }

  app.get(
    '/healthz',
    {
      logLevel: 'warn',
      schema: {
        operationId: 'health',
        tags: ['operations'],
        summary: 'Is the process running?',
        security: [],
        response: {
          200: Type.Object({ status: Type.Literal('ok') }, { description: 'It is.' }),
          ...problemAnswers(['method-not-allowed'])
        }
      }
    },
    async () => ({ status: 'ok' })
  )

  const Readiness = (description: string) =>
    Type.Object({ status: Type.String(), differences: Type.Array(Type.String()) }, { description })
  app.get(
    '/readyz',
    {
      logLevel: 'warn',
      schema: {
        operationId: 'readiness',
        tags: ['operations'],
        summary: 'Does DynamoDB have the tables and indexes that are declared?',
        security: [],
        response: {
          200: Readiness('It has.'),
          503: Readiness('What is missing or differs, a sentence each.'),
          ...problemAnswers(['method-not-allowed'])
        }
      }
    },
    async (_request, reply) => {
      const differences = await cached()
      if (differences.length) reply.code(503).header('retry-after', '1')
      return { status: differences.length ? 'unready' : 'ready', differences }
    }
  )
}
