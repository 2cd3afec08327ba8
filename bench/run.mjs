// npm run bench [-- --quick | --growth]: ratios of CPU time per request, measured in one run, interleaved, medians of rounds.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
if (!existsSync(`${here}node_modules`)) execFileSync('npm', ['ci'], { cwd: here, stdio: 'inherit' })
const { ask, startDatabase, startLoad, startServer, stop } = await import('./processes.mjs')
const { scenarios } = await import('./scenarios.mjs')
const { growth } = await import('./growth.mjs')
const { overview } = await import('./overview.mjs')
const { median } = await import('./median.mjs')

const option = (name, value) => Number(process.argv.find(word => word.startsWith(`--${name}=`))?.split('=')[1] ?? value)
const quick = process.argv.includes('--quick')
const ROUNDS = option('rounds', quick ? 3 : 12)
const SIDE_ROUNDS = option('side-rounds', quick ? 1 : 3)
/** CPU time of a window: as many requests as take about that long. */
const WINDOW_MS = option('window', quick ? 50 : 150)
/** CPU time for the compiler to get to know the code, before anything counts. */
const WARM_UP_MS = option('warm-up', quick ? 300 : 4000)
const known = ['floor', 'quintet', 'quintet-sdk', 'aws', 'document', 'electrodb', 'toolbox', 'onetable', 'dynamoose']
/** A filter by the words of `--name=a,b`; without the option everything passes. */
const chosen = name => {
  const words = process.argv
    .find(word => word.startsWith(`--${name}=`))
    ?.split('=')[1]
    .split(',')
  return value => words?.includes(String(value)) ?? true
}
const isChosen = {
  variant: chosen('variants'),
  scenario: chosen('scenarios'),
  connections: chosen('connections'),
  database: chosen('databases')
}
const variants = known.filter(variant => variant === 'floor' || isChosen.variant(variant))

async function measure(load, server, scenario, connections, count) {
  const { origin, prefix, child, headers } = server
  const task = { ...scenario, origin, path: prefix + scenario.path, headers: { ...scenario.headers, ...headers } }
  const before = await ask(child, 'cpu')
  const { seconds, wrong } = await ask(load, { ...task, connections, count })
  if (wrong) throw new Error(`${server.variant}: ${wrong}`)
  const after = await ask(child, 'cpu')
  return { cpu: (after.cpu - before.cpu) / count, rate: count / seconds }
}

/** Every server must give the same answer before its speed means anything. */
async function check({ variant, origin, prefix, headers }, { method, path, body, status, headers: more, holds }) {
  const unique = `check${Math.random().toString(36).slice(2, 10)}`
  const options = { method, headers: { ...more, ...headers }, body: body?.replace('{unique}', unique) }
  const res = await fetch(origin + prefix + path, options)
  const text = await res.text()
  if (res.status !== status || !text.includes(holds)) throw new Error(`${variant} ${path}: ${res.status} ${text}`)
}

/** Rounds of all servers in turn, starting with another one each time. */
async function rounds(load, servers, scenario, connections, rounds, countOf) {
  const results = []
  for (let round = 0; round < rounds; round++) {
    const result = {}
    for (let i = 0; i < servers.length; i++) {
      const server = servers[(i + round) % servers.length]
      result[server.variant] = await measure(
        load,
        server,
        scenario,
        connections,
        Math.max(connections, countOf[server.variant])
      )
    }
    results.push(result)
    process.stderr.write('.')
  }
  return results
}

function row(database, connections, scenario, results) {
  const of = (a, b, field) => median(results.map(result => result[a]?.[field] / result[b]?.[field]))
  return {
    database,
    connections,
    scenario: scenario.id,
    micros: median(results.map(result => result.quintet.cpu)),
    cpu: Object.fromEntries(variants.map(variant => [variant, of(variant, 'floor', 'cpu')])),
    againstAws: of('quintet', 'aws', 'cpu'),
    rateAgainstDynamoose: of('quintet', 'dynamoose', 'rate')
  }
}

async function compare(kind, allScales) {
  const scales = allScales.filter(({ connections }) => isChosen.connections(connections))
  if (!isChosen.database(kind)) return
  const database = await startDatabase(
    kind,
    variants.filter(variant => variant !== 'quintet-sdk')
  )
  const all = []
  for (const variant of variants) all.push(await startServer(variant, database.endpoint))
  const load = await startLoad()
  for (const { connections, count } of scales) {
    for (const scenario of scenarios) {
      if (scenario.databases?.includes(kind) === false || !isChosen.scenario(scenario.id.split(' ')[0])) continue
      const servers = all.filter(({ variant }) => scenario.variants?.includes(variant) ?? true)
      for (const server of servers) await check(server, scenario)
      const countOf = {}
      for (const server of servers) {
        const { cpu: cold } = await measure(load, server, scenario, connections, 100)
        const { cpu } = await measure(load, server, scenario, connections, Math.ceil((WARM_UP_MS * 1000) / cold))
        const enough = Math.round((WINDOW_MS * 1000) / cpu)
        countOf[server.variant] = Math.min(Math.max(enough, connections * 2, 50), 1000)
      }
      print(row(kind, connections, scenario, await rounds(load, servers, scenario, connections, count, countOf)))
    }
  }
  for (const { child } of all) await stop(child)
  await stop(load)
  await stop(database.child)
}

const line = cells => `| ${cells.join(' | ')} |`

function printHead() {
  const head = ['database', 'connections', 'scenario', 'quintet µs', ...variants]
  head.push('CPU against aws', 'requests/s against dynamoose')
  console.log(`
CPU time per request of the server process, as a multiple of the floor's (${cpus().length} cores, Node ${process.version};
${ROUNDS} rounds of about ${WINDOW_MS} ms of CPU time at 32 connections on the stand-in, ${SIDE_ROUNDS} elsewhere;
medians of the ratios within a round)
`)
  console.log(line(head))
  console.log(line(head.map(() => '---')))
}

function print({ database, connections, scenario, micros, cpu, againstAws, rateAgainstDynamoose }) {
  const x = number => (Number.isNaN(number) ? '' : number.toFixed(number < 10 ? 2 : 1))
  const ratios = variants.map(variant => x(cpu[variant]))
  console.log(
    line([database, connections, scenario, micros.toFixed(0), ...ratios, x(againstAws), x(rateAgainstDynamoose)])
  )
}

if (process.argv.includes('--growth')) {
  await growth(quick)
  await overview()
  process.exit()
}
printHead()
const aside = [1, 128].map(connections => ({ connections, count: SIDE_ROUNDS }))
await compare('stand-in', [{ connections: 32, count: ROUNDS }, ...aside])
await compare('dynalite', [{ connections: 32, count: SIDE_ROUNDS }, ...aside])
if (isChosen.database('embedded')) {
  await growth(quick)
  await overview()
}
process.exit()
