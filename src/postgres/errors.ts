import { invalid, Problem } from '../problems.js'

/** It is away, busy, only a copy that may be read, or does not let us in: nothing that a caller could do better. */
const AWAY = /^(08|28|3D|53|57P|25006|25P03|40001|40P01|55P03)/

/** Whether PostgreSQL may have done what it was asked to do: it was asked, and the connection ended before its answer. */
export function isUnanswered(error: unknown): boolean {
  const { code = '', message = '' } = ((error as Error).cause ?? error) as { code?: string; message?: string }
  const isBroken = /^(ECONNRESET|EPIPE|ETIMEDOUT)$/.test(code)
  return isBroken || /^(Connection terminated( unexpectedly)?|Query read timeout)$/.test(message)
}

/** The problem that an error of PostgreSQL is for a caller of the API. */
export function toProblem(error: unknown): unknown {
  if (error instanceof Problem) return error
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (code === '22021') return invalid('body/repository', 'holds a character that PostgreSQL cannot store')
  if (code === '22001') return invalid('body', 'holds a text that is too long for its column in PostgreSQL')
  const isAway = AWAY.test(code) || /^E[A-Z]{3,}$/.test(code) || /timeout|terminated|Connection/i.test(message)
  if (!isAway) return error
  const problem = new Problem('database-unavailable', 'PostgreSQL cannot be used', { headers: { 'retry-after': '1' } })
  problem.cause = error
  return problem
}
