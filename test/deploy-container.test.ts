import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Test } from './helpers.js'

/** The Dockerfile's steps without Docker: what the image holds, run as the image runs it. */

const root = fileURLToPath(new URL('../../', import.meta.url))
const dockerfile = (await readFile(join(root, 'Dockerfile'), 'utf8')).replaceAll('\\\n', ' ')
const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
const words = (instruction: RegExp): string[] => JSON.parse(instruction.exec(last)?.[1] ?? '[]')
const CMD = words(/\nCMD (\[.+\])/)
const HEALTHCHECK = words(/\nHEALTHCHECK .*CMD (\[.+\])/)

/** Not root, where the tests are root; else whoever runs them. */
const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

/** Without the test runner's own hooks, which would write beside the tests. */
const BARE = 'unset NODE_OPTIONS; exec "$0" "$@"'

/**
 * The image's /app in a folder: the compiled sources, and as node_modules links to the packages that the lock file
 * does not mark as being for development. Links are kept as paths, so that what is not linked cannot be found.
 */
async function image(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'quintet-image-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const app = join(folder, 'app')
  await cp(fileURLToPath(new URL('../src', import.meta.url)), join(app, 'dist/src'), { recursive: true })
  await cp(join(root, 'package.json'), join(app, 'package.json'))
  for (const [, name = ''] of last.matchAll(/\nCOPY (\w+) \/app\/\1\n/g)) {
    await cp(join(root, name), join(app, name), { recursive: true })
  }
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  for (const [path, { dev, devOptional }] of Object.entries<{ dev?: boolean; devOptional?: boolean }>(packages)) {
    const isShipped = path.lastIndexOf('node_modules/') === 0 && !dev && !devOptional
    if (!isShipped) continue
    await mkdir(dirname(join(app, path)), { recursive: true })
    await symlink(join(root, path), join(app, path))
  }
  await mkdir(join(folder, 'data'))
  if (user.uid) await chown(join(folder, 'data'), user.uid, user.gid)
  for (const path of [folder, app]) await chmod(path, 0o755)
  return folder
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

t.test('what the image runs, with what it holds', async t => {
  const folder = await image(t)
  const port = String(await freePort())
  const start = (command: string[], env: Record<string, string> = {}) => {
    const args = command.slice(1).map(word => word.replace(/^\/app/, join(folder, 'app')))
    return spawn('sh', ['-c', BARE, process.execPath, '--preserve-symlinks', '--preserve-symlinks-main', ...args], {
      cwd: join(folder, 'data'),
      ...user,
      env: { NODE_ENV: 'production', HOST: '0.0.0.0', PORT: port, ...env }
    })
  }
  const isHealthy = async () => (await once(start(HEALTHCHECK), 'exit'))[0] === 0

  t.equal(CMD[0], 'node', 'Node itself is process 1')
  t.equal(await isHealthy(), false, 'nobody answers yet')
  const server = start(CMD, { ADMIN_TOKEN: 'admin-secret' })
  t.teardown(() => server.kill('SIGKILL'))
  let output = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', chunk => {
      output += chunk
    })
  }
  while (!/API +http/.test(output)) {
    if (server.exitCode !== null) throw new Error(output)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  t.equal(await isHealthy(), true, 'the health check')
  const made = await fetch(`http://127.0.0.1:${port}/v1/projects`, {
    method: 'POST',
    headers: { authorization: 'Bearer admin-secret', 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'container1', repository: 'https://github.com/example/p' })
  })
  t.equal(made.status, 201)
  const page = await fetch(`http://127.0.0.1:${port}/docs/static/swagger-ui-bundle.js`)
  t.equal(page.status, 200)
  t.match(await page.text(), 'SwaggerUIBundle')
  for (const file of ['/live', '/live/live.js', '/live/live.css']) {
    t.equal((await fetch(`http://127.0.0.1:${port}${file}`)).status, 200, file)
  }
  t.strictSame(await readdir(join(folder, 'data')), ['.quintet'], 'the data is in the volume')
  t.strictSame((await readdir(join(folder, 'app'))).sort(), ['dist', 'node_modules', 'package.json', 'public'])
  server.kill('SIGTERM')
  t.strictSame(await once(server, 'exit'), [0, null], output)
})

t.test('the image is not root’s, and takes nothing that it does not need', async t => {
  t.match(last, /\nUSER node\n/)
  t.notMatch(last, /\b(npm|npx|yarn)\b/)
  t.match(dockerfile, /npm prune --omit=dev/)
  const ignored = (await readFile(join(root, '.dockerignore'), 'utf8')).split('\n')
  const copied = [...dockerfile.matchAll(/\nCOPY (?!--from)(.+) \S+/g)].flatMap(([, names = '']) => names.split(' '))
  t.equal(ignored[0], '*')
  t.strictSame(
    ignored
      .filter(line => line.startsWith('!'))
      .map(line => line.slice(1))
      .sort(),
    copied.sort(),
    'what is copied is what is let in'
  )
})
