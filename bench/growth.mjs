// What becomes of the cost when there is more: requests on a growing table, deletions and imports of growing projects.
import { writeFile } from '../dist/src/migrate/file.js'
import { PROJECT, projectItem, tableOf, tokenItems } from './items.mjs'
import { median } from './median.mjs'
import {
  ADMIN_TOKEN,
  ask,
  embeddedEndpoint,
  fileFor,
  putAll,
  runBulk,
  runImport,
  startDatabase,
  startLoad,
  startServer,
  stop
} from './processes.mjs'
import { scenarios as all } from './scenarios.mjs'

const table = tableOf('quintet')
const CASCADES = 5
const embedded = { DYNAMODB: 'embedded', EMBEDDED_DATA: 'memory', EMBEDDED_PORT: '0' }
const scenarios = all.filter(({ databases }) => databases?.includes('embedded') ?? true)

export async function growth(quick) {
  await flatRequests(quick ? [1, 1000] : [1, 1000, 100_000], quick ? 60 : 150)
  await linearDeletion(quick ? [1000, 10_000] : [1000, 10_000, 100_000])
  await linearImport(quick ? [1000, 10_000] : [1000, 10_000, 100_000])
  await cascade()
}

/** The cost of a request on tables of several sizes, in the embedded engine: server and database together. */
async function flatRequests(sizes, count) {
  const server = await startServer('quintet', '', embedded)
  const endpoint = embeddedEndpoint(server)
  const load = await startLoad()
  await putAll(endpoint, table, [projectItem(table), ...tokenItems(table, 20)])
  console.log('\nCPU µs per request (embedded engine, server and database in one process) by items in the table:\n')
  console.log(`| items | ${scenarios.map(({ id }) => id).join(' | ')} |\n|---|${scenarios.map(() => '---').join('|')}|`)
  let there = 1
  for (const size of sizes) {
    await putAll(endpoint, table, others(there, size))
    there = size
    const cells = []
    for (const scenario of scenarios) {
      const samples = []
      for (let i = 0; i < 4; i++) samples.push(await costOf(load, server, scenario, count))
      cells.push(Math.min(...samples.slice(1)).toFixed(0))
    }
    console.log(`| ${size.toLocaleString('en')} | ${cells.join(' | ')} |`)
  }
  await stop(load)
  await stop(server.child)
}

function* others(from, to) {
  for (let i = from; i < to; i++) {
    yield {
      pk: { S: `PROJECT#other${i % 1000}` },
      sk: { S: `TARGET#t${i}` },
      name: { S: `t${i}` },
      type: { S: 'x' },
      properties: { M: {} }
    }
  }
}

async function costOf(load, { child, origin, prefix, headers }, scenario, count) {
  const task = { ...scenario, origin, path: prefix + scenario.path, headers: { ...scenario.headers, ...headers } }
  const before = await ask(child, 'cpu')
  const { wrong } = await ask(load, { ...task, connections: 8, count })
  if (wrong) throw new Error(wrong)
  return ((await ask(child, 'cpu')).cpu - before.cpu) / count
}

/** Deletes a project through the API; gives wall time, CPU time and the most memory it took on the way. */
async function deleteProject(children, latency) {
  const database = await startDatabase('stand-in', [], { CHILDREN: String(children), LATENCY: String(latency) })
  const server = await startServer('quintet', database.endpoint)
  const remove = () =>
    fetch(`${server.origin}/v1/projects/${PROJECT}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` }
    })
  await remove()
  const before = await ask(server.child, 'cpu')
  const began = performance.now()
  let peak = 0
  let isDone = false
  const watch = (async () => {
    while (!isDone) {
      peak = Math.max(peak, (await ask(server.child, 'cpu')).rss)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  })()
  const { status } = await remove()
  const ms = performance.now() - began
  isDone = true
  await watch
  const { cpu } = await ask(server.child, 'cpu')
  await stop(server.child)
  if (status !== 204) throw new Error(`the deletion answered ${status}`)
  return { ms, cpu: cpu - before.cpu, more: peak - before.rss, database }
}

async function linearDeletion(sizes) {
  console.log('\nDeleting a project, by its children (second time in the process, stand-in without latency):\n')
  console.log('| children | ms | CPU µs per child | memory added, MB |\n|---|---|---|---|')
  for (const size of sizes) {
    const { ms, cpu, more, database } = await deleteProject(size, 0)
    await stop(database.child)
    console.log(
      `| ${size.toLocaleString('en')} | ${ms.toFixed(0)} | ${(cpu / size).toFixed(1)} | ${(more / 1e6).toFixed(0)} |`
    )
  }
}

/** Projects of ten tokens each, as a dump of PostgreSQL has them. */
async function* dumped(tokens) {
  const [createdAt, expiresAt] = ['2022-02-02T18:01:49.345261Z', '2032-02-02T18:01:49.345261Z']
  for (let i = 0; i < tokens / 10; i++) {
    const project = `import${String(i).padStart(6, '0')}`
    const tokens = Array.from({ length: 10 }, (_, n) => ({ tokenId: `tkn-${i}-${n}`, createdAt, expiresAt }))
    yield { project, repository: 'https://github.com/example/bench', tokens }
  }
}

async function linearImport(sizes) {
  console.log('\nImporting a dump into the embedded engine of another process, by its tokens:\n')
  console.log('| tokens | CPU µs per token | most memory, MB |\n|---|---|---|')
  for (const size of sizes) {
    const database = await startServer('quintet', '', embedded)
    const file = fileFor(`${size}.dump`)
    await writeFile(file, dumped(size), new Date())
    const { cpu, peak } = await runImport(file, embeddedEndpoint(database), size + size / 10)
    await stop(database.child)
    console.log(`| ${size.toLocaleString('en')} | ${(cpu / size).toFixed(1)} | ${(peak / 1e6).toFixed(0)} |`)
  }
}

/** 10,000 children, a database 5 ms away: against the same requests one at a time, and against the document client. */
async function cascade() {
  const ratios = []
  for (let round = 0; round < CASCADES; round++) {
    const { ms, cpu, database } = await deleteProject(10_000, 5)
    const sequential = await runBulk('sequential', database.endpoint)
    const document = await runBulk('document', database.endpoint)
    await stop(database.child)
    ratios.push({ ms, time: ms / sequential.ms, cpu: cpu / document.cpu })
  }
  const of = name => median(ratios.map(ratio => ratio[name]))
  console.log(`\nCascade delete of 10,000 children with 5 ms of latency (medians of ${CASCADES}):`)
  console.log(`- ${of('ms').toFixed(0)} ms, ${of('time').toFixed(2)} of the same requests one at a time`)
  console.log(`- ${of('cpu').toFixed(2)} of the CPU time of the document client`)
}
