import type { Postgres } from '../postgres/client.js'
import { snapshot } from '../postgres/rows.js'
import { writeFile } from './file.js'
import type { Output } from './output.js'

/** Writes one consistent view of PostgreSQL's projects and tokens to a file. */
export async function dump(client: Postgres, path: string, now: () => number, output: Output): Promise<number> {
  const counts = await writeFile(path, snapshot(client), new Date(now()))
  output.line(`${counts.projects} projects and ${counts.tokens} tokens written to ${path}`)
  return 0
}
