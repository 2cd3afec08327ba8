// One competitor as a server: `node serve.mjs <variant> <endpoint>`.
import { randomBytes } from 'node:crypto'
import { tableOf } from './items.mjs'

const KEEP_ALIVE_MS = 120_000
const [variant, endpoint] = process.argv.slice(2)
const settings = {
  endpoint,
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' }
}
const { open, host = 'fastify' } = await import(`./peers/${variant}.mjs`)
const actions = await open(settings, tableOf(variant))

/** A token that did not exist before. */
const newToken = project => ({
  project,
  tokenId: `tkn-${randomBytes(6).toString('hex')}`,
  createdAt: new Date().toISOString(),
  expiresAt: '2099-01-01T00:00:00.000Z',
  hashedToken: randomBytes(32).toString('hex')
})
const hosts = { fastify, express, node }
const port = await hosts[host]()
process.send({ port })

async function fastify() {
  const { default: Fastify } = await import('fastify')
  const app = Fastify({ keepAliveTimeout: KEEP_ALIVE_MS })
  const text = { type: 'string' }
  const object = properties => ({ type: 'object', properties })
  const project = object({ name: text, repository: text })
  const token = object({ tokenId: text, createdAt: text, expiresAt: text })
  const list = object({ items: { type: 'array', items: token } })
  app.get('/projects/:name', { schema: { response: { 200: project } } }, request => actions.get(request.params.name))
  app.get('/projects/:name/tokens', { schema: { response: { 200: list } } }, request =>
    actions.list(request.params.name)
  )
  app.post('/projects', { schema: { body: project, response: { 201: project } } }, async (request, reply) => {
    await actions.create(request.body)
    return reply.code(201).send(request.body)
  })
  app.post('/projects/:name/tokens', { schema: { response: { 201: token } } }, async (request, reply) => {
    const made = newToken(request.params.name)
    await actions.transaction(made)
    return reply.code(201).send(made)
  })
  if (actions.resolve) app.get('/resolve', () => actions.resolve())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server.address().port
}

async function express() {
  const { default: express } = await import('express')
  const app = express()
  app.use(express.json())
  app.get('/projects/:name', async (req, res) => res.json(await actions.get(req.params.name)))
  app.get('/projects/:name/tokens', async (req, res) => res.json(await actions.list(req.params.name)))
  app.post('/projects', async (req, res) => {
    await actions.create(req.body)
    res.status(201).json(req.body)
  })
  app.post('/projects/:name/tokens', async (req, res) => {
    const made = newToken(req.params.name)
    await actions.transaction(made)
    res.status(201).json(made)
  })
  return new Promise(resolve => {
    const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port))
    server.keepAliveTimeout = KEEP_ALIVE_MS
  })
}

async function node() {
  const { createServer } = await import('node:http')
  const handle = async (request, body) => {
    const [, kind, name, tokens] = request.url.split('?')[0].split('/')
    if (kind === 'resolve') return [200, await actions.resolve()]
    if (request.method === 'GET') return [200, await (tokens ? actions.list(name) : actions.get(name))]
    const made = tokens ? newToken(name) : JSON.parse(body)
    await (tokens ? actions.transaction(made) : actions.create(made))
    return [201, made]
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', part => {
      body += part
    })
    request.on('end', async () => {
      const [status, answer] = await handle(request, body).catch(error => [500, { error: String(error) }])
      const text = JSON.stringify(answer)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      response.end(text)
    })
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))
}
