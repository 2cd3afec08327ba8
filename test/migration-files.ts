import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectEntities } from '../src/entities/projects.js'
import { writeFile as writeDump } from '../src/migrate/file.js'
import { load } from '../src/migrate/load.js'
import type { Piece } from '../src/postgres/rows.js'
import { projectCopies } from '../src/services/project-copies.js'
import { start, type Test } from './helpers.js'
import { collect } from './migration-helpers.js'

export const AT = '2022-02-02T18:01:49.345261Z'
export const token = (tokenId: string, more = {}) => ({ tokenId, createdAt: AT, expiresAt: AT, ...more })
export const piece = (project: string, ids: string[] = []): Piece => ({
  project,
  repository: 'https://example.com/r',
  tokens: ids.map(id => token(id))
})

async function* each<T>(items: T[]): AsyncGenerator<T> {
  yield* items
}

/** A dump of the given pieces and a way to load it, changed at will. */
export async function begin(t: Test, pieces: Piece[]) {
  const started = await start(t, { domains: ['projects'] })
  const folder = await mkdtemp(join(tmpdir(), 'quintet-load-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'dump.jsonl')
  await writeDump(file, each(pieces), new Date(0))
  const copies = projectCopies(projectEntities(started.database.dynamo('projects'), started.config.tables.projects))
  async function run(options = { overwrite: false }) {
    const { lines, output } = collect()
    const code = await load(file, copies, options, output)
    return { code, lines, summary: lines.at(-1), told: lines.slice(0, -1) }
  }
  return {
    ...started,
    file,
    run,
    /** Loads these bytes instead. */
    async runWith(content: string | Buffer) {
      await writeFile(file, content)
      return run()
    },
    async change(edit: (lines: string[]) => string[]) {
      const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1)
      await writeFile(file, `${edit(lines).join('\n')}\n`)
    }
  }
}
