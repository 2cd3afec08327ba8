import t from 'tap'
import { start } from './helpers.js'

t.test('first', async t => {
  const { api, raw, counted } = await start(t, { domains: ['projects'] })
  const res = await api.post('/v1/projects', { name: 'myproj', repository: 'https://github.com/example/myproj' })
  console.log(res.statusCode, res.headers, res.body)
  console.log(await raw.all('projects'))
  const tok = await api.post('/v1/projects/myproj/tokens', {})
  console.log(tok.statusCode, tok.body)
  console.log(
    (await api.put('/v1/projects/myproj/targets/prod1', { type: 'x', properties: { a: 1, b: { c: 2 } } })).body
  )
  const p = await counted(() =>
    api.patch('/v1/projects/myproj/targets/prod1', { properties: { a: null, b: { d: [1] }, 'odd name': 'x' } })
  )
  console.log(p.requests, p.result.body)
  console.log(await raw.all('projects'))
  for (const u of ['', '/overview', '/tokens', '/targets', '/tokens/' + tok.json().tokenId, '/targets/prod1']) {
    const { result, requests } = await counted(() => api.get('/v1/projects/myproj' + u))
    console.log(u, result.statusCode, requests, result.body, result.headers.etag)
  }
  console.log((await api.post('/v1/projects/myproj/tokens/introspect', { token: tok.json().token })).body)
  console.log((await api.delete('/v1/projects/myproj')).statusCode)
  console.log(await raw.all('projects'))
})
