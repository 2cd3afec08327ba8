import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { component, problemAnswers } from '../schemas/common.js'

const CACHE_MS = 1000

const Health = component('Health', Type.Object({ status: Type.Literal('ok') }, { description: 'The process runs.' }))
const Readiness = component(
  'Readiness',
  Type.Object(
    { status: Type.String({ examples: ['ready'] }), differences: Type.Array(Type.String()) },
    { description: 'What is missing or differs in DynamoDB, a sentence each; nothing if it is ready.' }
  )
)

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
        description: 'Asks nothing of DynamoDB, so that a slow database does not get the process restarted.',
        security: [],
        response: {
          200: Health,
          ...problemAnswers(['method-not-allowed'])
        }
      }
    },
    async () => ({ status: 'ok' })
  )

  app.get(
    '/readyz',
    {
      logLevel: 'warn',
      schema: {
        operationId: 'readiness',
        tags: ['operations'],
        summary: 'Does DynamoDB have the tables and indexes that are declared?',
        description: 'Asks DynamoDB for every table of the enabled domains, at most once a second.',
        security: [],
        response: {
          200: Readiness,
          503: Readiness,
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
