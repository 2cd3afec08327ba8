import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test as TapTest } from 'tap'
import { type Started, start, type Test } from './helpers.js'

const repository = 'https://github.com/example/doomed'
const CHILD = fileURLToPath(new URL('./deletion-child.js', import.meta.url))

const MEMORY_CHILD = fileURLToPath(new URL('./deletion-memory-child.js', import.meta.url))

/** Puts children into a project's partition, as another program could have. */
export async function fill({ raw }: Started, project: string, count: number): Promise<void> {
  const one = (i: number) => ({
    pk: `PROJECT#${project}`,
    sk: i % 2 ? `TOKEN#tkn-${i}` : `TARGET#t${i}`,
    created_at: '2026-01-01T00:00:00Z',
    expires_at: '2099-01-01T00:00:00Z'
  })
  await raw.putAll(
    'projects',
    Array.from({ length: count }, (_, i) => one(i))
  )
}

/** Kills a server at a point of a deletion, and lets the next one finish it, asking all the while. */
export async function killDuringDeletion(t: TapTest, children: number, operation: string, n: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'quintet-deletion-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const env = { EMBEDDED_DATA: folder }
  const token = await inFolder(t, env, async started => {
    await started.api.post('/v1/projects', { name: 'doomed', repository })
    const made = (await started.api.post('/v1/projects/doomed/tokens', {})).json()
    await fill(started, 'doomed', children)
    return made.token as string
  })

  const child = spawn(process.execPath, [CHILD, folder, 'doomed', operation, String(n)], { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  t.equal(signal, 'SIGKILL', `killed after ${operation} ${n}`)

  await inFolder(t, env, async started => {
    const { api, raw } = started
    const left = (await raw.all('projects')).length
    t.ok(left > 0, `${left} items are left`)
    t.equal((await api.get('/v1/projects/doomed')).statusCode, 404, 'the project is hidden')
    t.equal((await api.post('/v1/projects/doomed/tokens', {})).statusCode, 404, 'no new children')
    const asker = askUntilTaken(t, started, token)
    await asker.begun
    t.equal((await api.delete('/v1/projects/doomed')).statusCode, 204)
    const seen = await asker.end
    t.strictSame([seen.active, seen['project-exists']], [0, 0], JSON.stringify(seen))
    t.strictSame(await raw.all('projects'), [TAKEN], 'what took the name is all there is')
  })
}

async function inFolder<T>(t: Test, env: Record<string, string>, action: (started: Started) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = []
  const started = await start({ teardown: end => void ends.push(end) }, { domains: ['projects'], env })
  const finish = async () => {
    for (const end of ends.splice(0)) await end()
  }
  t.teardown(finish)
  const result = await action(started)
  await finish()
  return result
}

const TAKEN = { pk: 'PROJECT#doomed', sk: 'METADATA', repository }

/** Asks again and again whether the token opens its project and whether the name can be taken, until it can. */
function askUntilTaken(t: TapTest, { api }: Started, token: string) {
  const seen = { active: 0, dead: 0, 'project-exists': 0, 'project-deleting': 0, taken: 0 }
  const askToken = async () => {
    const { active } = (await api.post('/v1/projects/doomed/tokens/introspect', { token })).json()
    if (active && seen.dead > 0) t.fail('a dead token came to life')
    seen[active ? 'active' : 'dead'] += 1
  }
  const ask = async () => {
    await askToken()
    const taken = await api.post('/v1/projects', { name: 'doomed', repository })
    const outcome = taken.statusCode === 201 ? 'taken' : (taken.json().code as 'project-exists')
    if (outcome === 'project-exists' && seen['project-deleting'] > 0) t.fail('the project came back')
    seen[outcome] += 1
  }
  const begun = ask()
  const end = begun.then(async () => {
    while (seen.taken === 0) await ask()
    await askToken()
    return seen
  })
  return { begun, end }
}

/** While a project goes, its name cannot be taken and its token opens nothing; once it can, nothing of the old is left. */
export async function askDuringDeletion(t: TapTest, children: number): Promise<void> {
  const started = await start(t, { domains: ['projects'] })
  const { api, raw } = started
  await api.post('/v1/projects', { name: 'doomed', repository })
  const { token } = (await api.post('/v1/projects/doomed/tokens', {})).json()
  await fill(started, 'doomed', children)
  const asker = askUntilTaken(t, started, token)
  await asker.begun
  t.equal((await api.delete('/v1/projects/doomed')).statusCode, 204)
  const seen = await asker.end
  t.strictSame(await raw.all('projects'), [TAKEN], 'what took the name is all there is')
  t.ok(seen.active > 0 && seen['project-deleting'] > 0 && seen.dead > 0, JSON.stringify(seen))
}

/** Children with long keys, so that to hold all keys is much; and with content, so that a page has few of them. */
const LONG = 'x'.repeat(900)
const CONTENT = 'y'.repeat(8_000)

const longChild = (project: string, i: number) => ({
  pk: `PROJECT#${project}`,
  sk: `TARGET#${i}${LONG}`,
  type: 'x',
  properties: CONTENT
})

/** The keys that are read and not deleted yet are those of few pages and of the batches under way, however many go. */
export async function deleteWithFewKeys(t: TapTest, children: number): Promise<void> {
  const { api, raw, seen } = await start(t, { domains: ['projects'] })
  await api.post('/v1/projects', { name: 'doomed', repository })
  await raw.putAll(
    'projects',
    Array.from({ length: children }, (_, i) => longChild('doomed', i))
  )
  seen.length = 0
  t.equal((await api.delete('/v1/projects/doomed')).statusCode, 204)
  t.strictSame(await raw.all('projects'), [])
  const page = Math.ceil(2 ** 20 / (LONG.length + CONTENT.length))
  let held = 0
  let most = 0
  for (const { operation } of seen) {
    if (operation === 'Query') held += page
    if (operation === 'BatchWriteItem') held -= 25
    most = Math.max(most, held)
  }
  t.ok(most > 0 && most < 3 * page + 16 * 25, `${most} of ${children} keys were held at most`)
}

/**
 * Deletes projects in a process of its own, whose memory is not the engine's: what lives on while many children go is no
 * more than while few do, and far from what all their keys take.
 */
export async function deleteInFlatMemory(t: TapTest, children: number): Promise<void> {
  const { api, raw, database } = await start(t, { domains: ['projects'] })
  const counts = { warm: 500, some: 1000, many: children }
  for (const [project, count] of Object.entries(counts)) {
    await api.post('/v1/projects', { name: project, repository })
    for (let from = 0; from < count; from += 500) {
      await raw.putAll(
        'projects',
        Array.from({ length: Math.min(500, count - from) }, (_, i) => longChild(project, from + i))
      )
    }
  }
  const url = (await database.engine?.listen(0))?.url as string
  const aws = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', MEMORY_CHILD, url, ...Object.keys(counts)],
    { env: { ...process.env, ...aws } }
  )
  const { risen, batches } = JSON.parse(stdout) as { risen: [number, number, number]; batches: number }
  t.strictSame(await raw.all('projects'), [], 'all of it is gone')
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
  t.ok(batches >= all / 25, `${batches} batches`)
  const [, few, many] = risen.map(bytes => Math.round(bytes / 1024)) as [number, number, number]
  const keys = Math.round((children * LONG.length) / 1024)
  t.ok(many < keys / 2, `${children} children raised memory by ${many} KB; their keys alone take ${keys} KB`)
  t.ok(many < few + keys / 4, `1,000 children raised it by ${few} KB`)
}

/** A token or target made at the same moment as its project is deleted does not survive it. */
export async function raceCreationAgainstDeletion(t: TapTest, rounds: number): Promise<void> {
  const { api, raw, shuffled } = await start(t, { domains: ['projects'] })
  let survivors = 0
  let created = 0
  for (let round = 0; round < rounds; round++) {
    await api.post('/v1/projects', { name: 'racing', repository })
    const pause = () => new Promise(resolve => setTimeout(resolve, Math.random() * 4))
    const [token, target] = await shuffled(() =>
      Promise.all([
        pause().then(() => api.post('/v1/projects/racing/tokens', {})),
        pause().then(() => api.put('/v1/projects/racing/targets/prod', { type: 'x', properties: {} })),
        pause().then(() => api.delete('/v1/projects/racing'))
      ])
    )
    for (const { statusCode } of [token, target]) {
      if (statusCode === 201) created += 1
      else t.equal(statusCode, 404)
    }
    survivors += (await raw.query('projects', 'PROJECT#racing')).length
  }
  t.equal(survivors, 0, 'no orphan is left')
  t.ok(created > 0 && created < 2 * rounds, `${created} of ${2 * rounds} children came before the deletion`)
}
