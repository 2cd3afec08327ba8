import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test as TapTest } from 'tap'
import { type Started, start, type Test } from './helpers.js'

const repository = 'https://github.com/example/doomed'
const CHILD = fileURLToPath(new URL('./deletion-child.js', import.meta.url))

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

/** Kills a server at a point of a deletion, and lets the next one finish it. */
export async function killDuringDeletion(t: TapTest, children: number, atRequest: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'quintet-deletion-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const env = { EMBEDDED_DATA: folder }
  const token = await inFolder(t, env, async started => {
    await started.api.post('/v1/projects', { name: 'doomed', repository })
    const made = (await started.api.post('/v1/projects/doomed/tokens', {})).json()
    await fill(started, 'doomed', children)
    return made.token as string
  })

  const child = spawn(process.execPath, [CHILD, folder, 'doomed', String(atRequest)], { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  t.equal(signal, 'SIGKILL', `killed at request ${atRequest}`)

  await inFolder(t, env, async ({ api, raw }) => {
    const left = (await raw.all('projects')).length
    t.ok(left > 0, `${left} items are left`)
    t.equal((await api.get('/v1/projects/doomed')).statusCode, 404, 'the project is hidden')
    const asked = await api.post('/v1/projects/doomed/tokens/introspect', { token })
    t.strictSame(asked.json(), { active: false }, 'its token is dead')
    const taken = await api.post('/v1/projects', { name: 'doomed', repository })
    t.match(taken.json(), { status: 409, code: 'project-deleting' }, 'its name cannot be taken')
    t.equal((await api.post('/v1/projects/doomed/tokens', {})).statusCode, 404, 'no new children')
    t.equal((await api.delete('/v1/projects/doomed')).statusCode, 204)
    t.strictSame(await raw.all('projects'), [], 'nothing is left')
    t.equal((await api.post('/v1/projects', { name: 'doomed', repository })).statusCode, 201, 'the name is free')
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

/** A token or target made at the same moment as its project is deleted does not survive it. */
export async function raceCreationAgainstDeletion(t: TapTest, rounds: number): Promise<void> {
  const { api, raw } = await start(t, { domains: ['projects'] })
  let survivors = 0
  let created = 0
  for (let round = 0; round < rounds; round++) {
    await api.post('/v1/projects', { name: 'racing', repository })
    const pause = () => new Promise(resolve => setTimeout(resolve, Math.random() * 4))
    const [token, target] = await Promise.all([
      pause().then(() => api.post('/v1/projects/racing/tokens', {})),
      pause().then(() => api.put('/v1/projects/racing/targets/prod', { type: 'x', properties: {} })),
      pause().then(() => api.delete('/v1/projects/racing'))
    ])
    for (const { statusCode } of [token, target]) {
      if (statusCode === 201) created += 1
      else t.equal(statusCode, 404)
    }
    survivors += (await raw.query('projects', 'PROJECT#racing')).length
  }
  t.equal(survivors, 0, 'no orphan is left')
  t.ok(created > 0 && created < 2 * rounds, `${created} of ${2 * rounds} children came before the deletion`)
}
