import { setTimeout as sleep } from 'node:timers/promises'
import { callers, type Started, start, type Test } from './helpers.js'
import { startMigration } from './migration-helpers.js'
import type { PostgresServer } from './postgres.js'

/** An app in a phase, on the DynamoDB of a migration that a door stands before. */
export async function phases(t: Test, server: PostgresServer) {
  const migration = await startMigration(t, server)
  // As Cello has it. Elsewhere it is left out, for tokens whose project is not there.
  await migration.postgres.admin.query(
    'ALTER TABLE tokens ADD FOREIGN KEY (project) REFERENCES projects (project), ALTER project SET NOT NULL'
  )
  const begin = async (store: string, more: { now?: () => number; url?: string } = {}) => {
    const log: string[] = []
    const env = {
      ...migration.place,
      PROJECTS_STORE: store,
      PROJECTS_POSTGRES_URL: more.url ?? migration.postgres.urlWithoutPassword,
      PGPASSWORD: migration.postgres.password,
      CURSOR_KEY: 'one'
    }
    return { ...(await start(t, { domains: ['projects'], env, log, now: more.now })), log }
  }
  return { ...migration, begin }
}

export async function metric({ app }: Started, name: string): Promise<number> {
  const { body } = await callers(app).get('/metrics')
  const [, value] = new RegExp(`^quintet_migration_${name.replace(/[{}]/g, '\\$&')} (.+)$`, 'm').exec(body) ?? []
  return Number(value)
}

/** Waits until nothing is left to be done behind the callers' backs. */
export async function settled(started: Started): Promise<void> {
  while ((await metric(started, 'pending')) > 0) await sleep(5)
}
