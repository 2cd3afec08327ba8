import t from 'tap'
import { start, unique } from './helpers.js'

const { api, raw, counted } = await start(t, { domains: ['hosting'] })
const host = () => `${unique('h')}.example.com`

async function deployed(status = 'FINISHED', fields: object = {}) {
  const { deploymentId } = (await api.post('/v1/deployments', {})).json()
  if (status !== 'INITIALIZED') await api.put(`/v1/deployments/${deploymentId}/status`, { status, ...fields })
  return deploymentId as string
}
const stack = { cfStack: 'stack' }
const item = (id: string) => raw.get('deployments', 'DEPLOYMENTS', `D#${id}`)
const remove = (id: string, query = '') => counted(() => api.delete(`/v1/deployments/${id}${query}`))

/** An index row and item as another program writes it. */
const foreignRoute = (id: string, n: number, own: boolean) => {
  const [HostnameRev, CreateDate] = [`com.example.${unique('f')}`, new Date(n).toISOString()]
  const keys = { PK: 'ROUTES', SK: `${HostnameRev}#/`, GSI1PK: `D#${id}`, GSI1SK: `${CreateDate}#R#${HostnameRev}#/` }
  return { ...keys, HostnameRev, BasePath: '/', DeploymentId: id, CreateDate, DeploymentAlias: own }
}

t.test('without a stack it is removed with its own alias, within three requests', async t => {
  for (const status of ['INITIALIZED', 'FINISHED', 'CREATE_FAILED', 'DESTROY_REQUESTED']) {
    const id = await deployed(status)
    const hostname = host()
    const own = await api.post('/v1/aliases', { hostname, target: id, deploymentAlias: true, config: { a: 1 } })
    t.equal(own.statusCode, status === 'DESTROY_REQUESTED' ? 409 : 201)
    const { result, requests } = await remove(id)
    t.equal(result.statusCode, 204, status)
    t.ok(requests.length <= 3, requests.join())
    t.equal(await item(id), undefined)
    t.equal((await api.get(`/v1/aliases/${hostname}`)).statusCode, 404)
    t.match((await remove(id)).result.json(), { status: 404, code: 'deployment-not-found' })
  }
  t.strictSame(await raw.all('aliases', 'DeploymentIdIndex'), [], 'nothing is left in the index')
})

t.test('with a stack its destruction is requested, and its own alias removed', async t => {
  const id = await deployed('FINISHED', { ...stack, routes: { a: 1 } })
  const hostname = host()
  await api.post('/v1/aliases', { hostname, target: id, deploymentAlias: true })
  const { result, requests } = await remove(id)
  t.ok(requests.length <= 3, requests.join())
  t.equal(result.statusCode, 202)
  t.match(result.json(), { deploymentId: id, status: 'DESTROY_REQUESTED', routes: { a: 1 }, cfStack: 'stack' })
  t.equal((await item(id))?.Status, 'DESTROY_REQUESTED')
  t.equal((await api.get(`/v1/aliases/${hostname}`)).statusCode, 404)
  t.equal((await remove(id)).result.statusCode, 202, 'asked again')
  t.equal((await remove(id, '?force=true')).result.statusCode, 202, 'force is for the controller’s last step')

  await api.put(`/v1/deployments/${id}/status`, { status: 'DESTROY_IN_PROGRESS' })
  t.match((await remove(id)).result.json(), { status: 409, code: 'invalid-transition' })
  t.equal((await remove(id, '?force=true')).result.statusCode, 204)
  t.equal(await item(id), undefined)
})

t.test('from each status with a stack', async t => {
  const expected: Record<string, [plain: number, force: number]> = {
    INITIALIZED: [204, 204],
    CREATE_IN_PROGRESS: [409, 409],
    CREATE_COMPLETE: [202, 202],
    CREATE_FAILED: [202, 202],
    FINISHED: [202, 202],
    DESTROY_REQUESTED: [202, 202],
    DESTROY_IN_PROGRESS: [409, 204],
    DESTROY_FAILED: [202, 204]
  }
  for (const [Status, codes] of Object.entries(expected)) {
    for (const [n, query] of ['', '?force=true'].entries()) {
      const id = await deployed('FINISHED', stack)
      await raw.put('deployments', { ...(await item(id)), Status })
      t.equal((await remove(id, query)).result.statusCode, codes[n], `${Status}${query}`)
    }
  }
  t.equal((await api.delete(`/v1/deployments/x?force=yes`)).statusCode, 400)
})

t.test('an alias that is not its own keeps a deployment, on whatever page it is', async t => {
  const id = await deployed()
  const filler = 'x'.repeat(180_000)
  // Own aliases fill pages of the index; its last row is another's.
  for (let n = 0; n < 8; n++) await raw.put('aliases', { ...foreignRoute(id, n, true), HostnameRev: filler })
  const last = foreignRoute(id, 31, false)
  await raw.put('aliases', last)
  const { result, requests } = await remove(id)
  t.match(result.json(), { status: 409, code: 'aliases-exist' })
  t.ok(requests.filter(name => name === 'Query').length > 1, 'it was not on the first page')
  t.equal((await item(id))?.Status, 'FINISHED')
  for (const force of ['', '?force=true']) t.equal((await remove(id, force)).result.statusCode, 409)
})

t.test('many own aliases go with it', async t => {
  const id = await deployed()
  for (let n = 0; n < 60; n++) await raw.put('aliases', foreignRoute(id, n, true))
  t.equal((await remove(id)).result.statusCode, 204)
  const left = (await raw.all('aliases')).filter(one => one.GSI1PK === `D#${id}`)
  t.strictSame(left, [])
})

t.test('an alias that the index does not show yet is seen', async t => {
  const id = await deployed()
  const hostname = host()
  await api.post('/v1/aliases', { hostname, target: id })
  const SK = `${hostname.split('.').reverse().join('.')}#/`
  const route = await raw.get('aliases', 'ROUTES', SK)
  // As if the index lagged behind: the item is there, its row is not.
  const { GSI1PK, GSI1SK, ...unindexed } = route ?? {}
  await raw.put('aliases', unindexed)
  t.match((await remove(id)).result.json(), { status: 409, code: 'aliases-exist' })
  await raw.put('aliases', { ...unindexed, GSI1PK, GSI1SK })
  await api.delete(`/v1/aliases/${hostname}`)
  t.equal((await remove(id)).result.statusCode, 204, 'it is gone by now')
})

t.test('If-Match on a deployment’s deletion', async t => {
  const id = await deployed('FINISHED', stack)
  const url = `/v1/deployments/${id}`
  const tag = String((await api.get(url)).headers.etag)
  await api.put(`${url}/status`, { status: 'FINISHED', routes: { new: 1 } })
  t.equal((await api.delete(url, { 'if-match': tag })).statusCode, 412)
  const fresh = String((await api.get(url)).headers.etag)
  t.equal((await api.delete(url, { 'if-match': fresh })).statusCode, 202)
})
