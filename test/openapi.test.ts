import { readFile } from 'node:fs/promises'
import t from 'tap'
import { parse } from 'yaml'
import { callers, start } from './helpers.js'
import { type Document, documentOf, exampleRequest, type Operation, operationsOf } from './openapi-document.js'

const DOMAINS = ['hosting', 'layers', 'tenants', 'projects', 'realtime', 'operations']

t.test('the document is served as it is in the repository', async t => {
  const { app, api } = await start(t)
  const json = (await api.get('/openapi.json')).json()
  const yaml = await api.get('/openapi.yaml')
  t.match(yaml.headers['content-type'], 'application/yaml')
  t.strictSame(parse(yaml.body), json)
  t.equal(yaml.body, await readFile(new URL('../../openapi.yaml', import.meta.url), 'utf8'))
  t.equal(json.openapi, '3.1.0')
  t.match(json.components.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } })
  t.strictSame(json.security, [{ bearer: [] }])
  t.strictSame(await documentOf(app), json)
})

t.test('every operation is described', async t => {
  const { app } = await start(t)
  const { paths } = await documentOf(app)
  const ids = new Set<string>()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const what = `${method} ${path}`
      t.ok(operation.summary && operation.description, what)
      t.ok(operation.tags?.length === 1 && DOMAINS.includes(operation.tags[0] as string), what)
      t.notOk(ids.has(operation.operationId as string), `${operation.operationId} names one operation`)
      ids.add(operation.operationId as string)
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in === 'path') t.ok(parameter.example !== undefined, `${what} ${parameter.name} has an example`)
      }
    }
  }
})

t.test('whatever has members is a named component, and said once', async t => {
  const { app } = await start(t)
  const { paths } = await documentOf(app)
  const inlined: string[] = []
  const look = (value: unknown, at: string) => {
    if (typeof value !== 'object' || value === null) return
    if ('properties' in value) inlined.push(at)
    for (const [name, member] of Object.entries(value)) look(member, `${at}/${name}`)
  }
  look(paths, '')
  t.strictSame(inlined, [])
})

/** What the server chooses stands in for what the examples can only show. */
const stand = (text: string, chosen: Map<string, string>) =>
  [...chosen].reduce((all, [example, real]) => all.replaceAll(example, real), text)

t.test('the examples can be sent as they are', async t => {
  const { app, api } = await start(t)
  const document = await documentOf(app)
  const chosen = new Map<string, string>()
  const send = async (method: string, path: string) => {
    const { url, body } = exampleRequest(document, path, document.paths[path]?.[method.toLowerCase()] as Operation)
    const payload = body === undefined ? undefined : stand(JSON.stringify(body), chosen)
    const type: Record<string, string> = payload === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await api.call(method as 'GET', stand(url, chosen), payload, type)
    t.ok(
      answer.statusCode < 300,
      `${method} ${url} ${payload ?? ''}: ${answer.statusCode} ${answer.body.slice(0, 200)}`
    )
    return answer
  }
  const parameter = (path: string, name: string) =>
    String(document.paths[path]?.get?.parameters?.find(one => one.name === name)?.example)

  // What others need comes first; its ids are the server's.
  const { deploymentId: former } = (await api.post('/v1/deployments')).json()
  const { deploymentId } = (await send('POST', '/v1/deployments')).json()
  await send('PUT', '/v1/deployments/{deploymentId}/status')
  const hosts = ['blue.example.com', 'green.example.com']
  for (const hostname of hosts) await api.post('/v1/aliases', { hostname, target: deploymentId })
  await send('POST', '/v1/aliases')
  await api.post('/v1/aliases', { hostname: 'docs.example.com', target: former, override: true })
  await send('POST', '/v1/layers')
  await send('POST', '/v1/projects')
  const { tokenId } = (await send('POST', '/v1/projects/{name}/tokens')).json()
  chosen.set(parameter('/v1/projects/{name}/tokens/{tokenId}', 'tokenId'), tokenId)
  const { execution } = (await send('POST', '/v1/tenants/{tenantId}/operations')).json()
  chosen.set(String(document.components.schemas.Outcome?.properties?.execution?.examples?.[0]), execution)
  await send('PUT', '/v1/tenants/{tenantId}/audit/{operation}')

  const once = ['/v1/deployments', '/v1/aliases', '/v1/projects', '/v1/tenants/{tenantId}/operations']
  const order = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE']
  const operations = operationsOf(document)
    .filter(({ method, path }) => method !== 'POST' || !once.includes(path))
    .sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method) || depthOf(a) - depthOf(b))
  const last = { method: 'DELETE', path: '/v1/deployments/{deploymentId}' }
  for (const { method, path } of operations.filter(
    ({ method, path }) => method !== last.method || path !== last.path
  )) {
    await send(method, path)
  }
  for (const hostname of hosts) await api.delete(`/v1/aliases/${hostname}`)
  await send(last.method, last.path)
})

/** What lies deeper is deleted first, and made last. */
const depthOf = ({ method, path }: { method: string; path: string }) =>
  path.split('/').length * (method === 'DELETE' ? -1 : 1)

t.test('every route × every kind of caller, as documented', async t => {
  const { app } = await start(t, { env: { ADMIN_TOKEN: 'admin' } })
  const document: Document = await documentOf(app)
  const admin = callers(app).as('admin')
  const tokenOf = async (name: string) => {
    await admin.post('/v1/projects', { name, repository: 'git@example.com:x' })
    return (await admin.post(`/v1/projects/${name}/tokens`, {})).json().token as string
  }
  const tokens = { own: await tokenOf('myproj'), other: await tokenOf('other1') }
  const routes = [...operationsOf(document), { path: '/v1/states/{name}/events', method: 'GET', operation: undefined }]
  t.ok(routes.length > 70, `${routes.length} routes`)
  for (const { path, method, operation } of routes) {
    const { url, body } = operation
      ? exampleRequest(document, path, operation)
      : { url: '/v1/states/x/events', body: undefined }
    const as = async (who: string, headers: Record<string, string>, expected: (status: number) => boolean) => {
      for (const way of method === 'GET' && operation ? ['GET', 'HEAD'] : [method]) {
        const { statusCode } = await callers(app).call(way as 'GET', url, body, headers)
        t.ok(expected(statusCode), `${way} ${path} with ${who}: ${statusCode}`)
        if (operation) t.ok(operation.responses[statusCode], `${way} ${path} documents ${statusCode}`)
      }
    }
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    await as('no token', {}, status => status === 401)
    await as('garbage', bearer('garbage'), status => status === 401)
    const isOfProject = path.startsWith('/v1/projects/{name}')
    await as('another project’s token', bearer(tokens.other), status => status === (isOfProject ? 404 : 403))
    if (!isOfProject) await as('a project’s token', bearer(tokens.own), status => status === 403)
    // What a project's own token opens is in test/auth.test.ts; the admin's opens all, to the end of the project itself.
    if (operation && method !== 'DELETE') {
      await as('the admin token', bearer('admin'), status => ![400, 401, 403, 405].includes(status))
    }
  }
})
