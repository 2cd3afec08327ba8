import { setTimeout as sleep } from 'node:timers/promises'
import { type Started, unique, walk } from './helpers.js'

/** Callers who do all they can to the same three aliases, and the proof that what they were told is true. */

type Call = 'create' | 'move' | 'delete'

interface Done {
  call: Call
  started: number
  ended: number
  status: number
  answer: { deploymentId?: string; createDate?: string; code?: string }
}

interface Change {
  changeId: string
  action: string
  changeDate: string
  deploymentId: string | null
  previousDeploymentId: string | null
}

export interface Outcome {
  /** How often each answer was given. */
  answers: Record<string, number>
  /** What is wrong, a sentence each. */
  wrong: string[]
}

const ACTIONS: Record<string, { call: Call; status: number }> = {
  created: { call: 'create', status: 201 },
  moved: { call: 'move', status: 200 },
  deleted: { call: 'delete', status: 204 }
}
/** Dates run ahead of the clock by a millisecond for each change within one. */
const DRIFT_MS = 250
/** Also on a slow machine every caller does each of its calls. */
const MIN_ROUNDS = 2

/**
 * Lets requests to DynamoDB overtake each other while an action runs. In process, a call that has begun otherwise
 * tends to end before the next one is looked at, and nothing would race.
 */
export async function shuffled<T>({ database }: Pick<Started, 'database'>, action: () => Promise<T>): Promise<T> {
  const { middlewareStack } = database.dynamo('hosting').client
  const pause = () => sleep(Math.random() * 4)
  middlewareStack.add(
    next => async args => {
      await pause()
      const result = await next(args)
      await pause()
      return result
    },
    { step: 'initialize', name: 'shuffle' }
  )
  try {
    return await action()
  } finally {
    middlewareStack.remove('shuffle')
  }
}

export async function raceAliases(started: Started, options: { callers: number; ms: number }): Promise<Outcome> {
  const { api } = started
  const deployments = ['one', 'two', 'three', 'four'].map(name => unique(`${name}-`))
  for (const deploymentId of deployments) await api.post('/v1/deployments', { deploymentId })
  const hosts = ['a', 'b', 'c'].map(name => `${unique(name)}.example.com`)
  const done = new Map(hosts.map(hostname => [hostname, [] as Done[]]))
  const end = Date.now() + options.ms

  const caller = async (n: number) => {
    for (let round = 0; Date.now() < end || round < MIN_ROUNDS; round++) {
      const hostname = hosts[(n + round) % 3] as string
      const call = (['create', 'move', 'move', 'delete'] as const)[(n + round) % 4] as Call
      const target = deployments[(3 * n + round) % 4]
      const config = (n + round) % 5 < 2 ? { n, round } : undefined
      const begin = Date.now()
      const response =
        call === 'delete'
          ? await api.delete(`/v1/aliases/${hostname}`)
          : await api.post('/v1/aliases', { hostname, target, override: call === 'move', config })
      const answer = response.body ? response.json() : {}
      done.get(hostname)?.push({ call, started: begin, ended: Date.now(), status: response.statusCode, answer })
    }
  }
  await shuffled(started, () => Promise.all(Array.from({ length: options.callers }, (_, n) => caller(n))))

  const answers: Record<string, number> = {}
  for (const { call, status, answer } of [...done.values()].flat()) {
    const name = `${call} ${status} ${answer.code ?? ''}`.trim()
    answers[name] = (answers[name] ?? 0) + 1
  }
  const wrong = [...unexpected(answers), ...(await inconsistencies(started))]
  for (const [hostname, calls] of done) {
    const history = ((await walk(api, `/v1/aliases/${hostname}/history?limit=100`)) as unknown as Change[]).reverse()
    const now = await api.get(`/v1/aliases/${hostname}`)
    const pointsAt = now.statusCode === 404 ? null : now.json().deploymentId
    wrong.push(...unexplained(calls, history, pointsAt).map(line => `${hostname}: ${line}`))
  }
  return { answers, wrong }
}

function unexpected(answers: Record<string, number>): string[] {
  const known = [
    'create 201',
    'create 409 alias-exists',
    'create 409 concurrent-changes',
    'move 200',
    'move 201',
    'move 409 concurrent-changes',
    'delete 204',
    'delete 404 alias-not-found',
    'delete 409 concurrent-changes'
  ]
  return Object.keys(answers).filter(name => !known.includes(name))
}

/** Whether Route and ConfigNextJS agree, and the index with both. */
export async function inconsistencies({ raw }: Started): Promise<string[]> {
  const wrong: string[] = []
  const items = await raw.all('aliases')
  const index = await raw.all('aliases', 'DeploymentIdIndex')
  const place = (item: Record<string, unknown>) => `${item.PK} ${item.SK}`
  const row = (item: Record<string, unknown>) => `${place(item)} ${item.GSI1PK} ${item.GSI1SK}`
  const byPlace = new Map(items.map(item => [place(item), item]))
  const rows = new Set(index.map(row))
  for (const item of items.filter(item => item.GSI1PK !== undefined)) {
    if (!rows.delete(row(item))) wrong.push(`${place(item)} is not in the index`)
    const letter = item.PK === 'ROUTES' ? 'R' : 'CN'
    const keys = [`D#${item.DeploymentId}`, `${item.CreateDate}#${letter}#${item.SK}`]
    if (item.GSI1PK !== keys[0] || item.GSI1SK !== keys[1]) wrong.push(`${place(item)} has keys that are not its own`)
    if (item.PK !== 'CONFIGNEXTJS') continue
    const route = byPlace.get(`ROUTES ${item.SK}`)
    if (route?.DeploymentId !== item.DeploymentId || route?.CreateDate !== item.CreateDate) {
      wrong.push(`the config ${item.SK} does not agree with its route`)
    }
  }
  for (const left of rows) wrong.push(`the index row ${left} has no item`)
  return wrong
}

/** Whether each success has its change, and the changes, one after the other, are an order that explains them all. */
function unexplained(calls: Done[], history: Change[], pointsAt: string | null): string[] {
  const wrong: string[] = []
  const open = new Set(calls.filter(({ status }) => status < 300))
  let state: string | null = null
  const order: Done[] = []
  for (const change of history) {
    if (change.previousDeploymentId !== state) wrong.push(`${change.changeId} does not follow ${state}`)
    state = change.deploymentId
    const call = callOf(change, open)
    if (!call) wrong.push(`${change.changeId} (${change.action}) is nobody's`)
    else {
      open.delete(call)
      order.push(call)
    }
  }
  if (state !== pointsAt) wrong.push(`it points at ${pointsAt}, and at ${state} by its history`)
  if (open.size > 0) wrong.push(`${open.size} successes left no change`)
  let earliestEnd = Number.POSITIVE_INFINITY
  for (const call of order.reverse()) {
    if (earliestEnd < call.started) wrong.push(`a ${call.call} comes before one that had ended when it began`)
    earliestEnd = Math.min(earliestEnd, call.ended)
  }
  return wrong
}

/** The call that made a change: known by its answer, or, as a deletion has none, the first to end of those under way. */
function callOf(change: Change, open: Set<Done>): Done | undefined {
  const wanted = ACTIONS[change.action]
  const candidates = [...open].filter(one => one.status === wanted?.status)
  if (change.action !== 'deleted') {
    return candidates.find(
      ({ answer }) => answer.createDate === change.changeDate && answer.deploymentId === change.deploymentId
    )
  }
  const at = Date.parse(change.changeDate)
  return candidates
    .filter(({ started, ended }) => started <= at && at <= ended + DRIFT_MS)
    .sort((a, b) => a.ended - b.ended)[0]
}

/** Deployments that are deleted while aliases are created for them: none may be left pointing at nothing. */
export async function raceDeletions(started: Started, options: { rounds: number; callers: number }): Promise<string[]> {
  const { api, raw } = started
  const wrong: string[] = []
  for (let round = 0; round < options.rounds; round++) {
    const { deploymentId } = (await api.post('/v1/deployments', {})).json()
    const hosts = Array.from({ length: options.callers }, () => `${unique('d')}.example.com`)
    const calls = await shuffled(started, () =>
      Promise.all(
        hosts.flatMap((hostname, n) => [
          api.post('/v1/aliases', { hostname, target: deploymentId }),
          ...(n % 4 === 0 ? [api.delete(`/v1/deployments/${deploymentId}`)] : []),
          ...(n % 3 === 0 ? [api.delete(`/v1/aliases/${hosts[n - 1]}`)] : [])
        ])
      )
    )
    for (const { statusCode, body } of calls) {
      if (![201, 204, 404, 409].includes(statusCode)) wrong.push(`${statusCode} ${body}`)
    }
    const isThere = (await raw.get('deployments', 'DEPLOYMENTS', `D#${deploymentId}`)) !== undefined
    const pointing = (await raw.all('aliases', 'DeploymentIdIndex')).filter(row => row.GSI1PK === `D#${deploymentId}`)
    if (!isThere && pointing.length > 0) wrong.push(`${pointing.length} aliases point at what is gone`)
  }
  return wrong
}
