import t from 'tap'
import { callers, type Started, start, type Test, walk } from './helpers.js'
import { NOW, NOW_ISO } from './items/case.js'

const repository = 'https://github.com/example/myproj'
const role = { credential_type: 'assumed_role', role_arn: 'arn:aws:iam::123456789012:role/deployer' }

const begin = (t: Test, env: Record<string, string> = {}) => start(t, { domains: ['projects'], env, now: () => NOW })

async function withProject(t: Test, name = 'myproj'): Promise<Started> {
  const started = await begin(t)
  await started.api.post('/v1/projects', { name, repository })
  return started
}

t.test('every access pattern stays within its budget', async t => {
  const { api, counted } = await withProject(t)
  const costs = async (most: number, action: () => Promise<{ statusCode: number; body: string }>, status: number) => {
    const { result, requests } = await counted(action)
    t.equal(result.statusCode, status, result.body)
    t.ok(requests.length <= most, `${requests} within ${most}`)
    return result
  }
  await costs(1, () => api.post('/v1/projects', { name: 'second', repository }), 201)
  await costs(1, () => api.get('/v1/projects/myproj'), 200)
  await costs(1, () => api.patch('/v1/projects/myproj', { repository: 'git@host:path' }), 200)
  const made = await costs(1, () => api.post('/v1/projects/myproj/tokens', {}), 201)
  const { tokenId, token } = JSON.parse(made.body)
  await costs(1, () => api.get(`/v1/projects/myproj/tokens/${tokenId}`), 200)
  await costs(2, () => api.get('/v1/projects/myproj/tokens'), 200)
  await costs(1, () => api.post('/v1/projects/myproj/tokens/introspect', { token }), 200)
  await costs(1, () => api.post(`/v1/projects/myproj/tokens/${tokenId}/rotate`, { graceSeconds: 60 }), 201)
  await costs(1, () => api.delete(`/v1/projects/myproj/tokens/${tokenId}`), 204)
  const target = '/v1/projects/myproj/targets/production'
  await costs(1, () => api.put(target, { type: 'any', properties: { a: 1 } }), 201)
  await costs(1, () => api.put(target, { type: 'any', properties: { a: { b: 1 } } }), 200)
  await costs(1, () => api.patch(target, { properties: { a: { c: 2 } } }), 200)
  await costs(1, () => api.patch(target, { type: 'other', properties: { a: { c: 3 } } }), 200)
  await costs(1, () => api.get(target), 200)
  const account = '/v1/projects/myproj/targets/account'
  await costs(1, () => api.put(account, { type: 'aws_account', properties: role }), 201)
  await costs(1, () => api.patch(account, { type: 'aws_account', properties: { ...role, note: 'x' } }), 200)
  await costs(2, () => api.get('/v1/projects/myproj/targets'), 200)
  await costs(1, () => api.get('/v1/projects/myproj/overview'), 200)
  await costs(1, () => api.delete(target), 204)
})

t.test('a project is created once, however many try', async t => {
  const { api, raw, shuffled } = await begin(t)
  const create = (i: number) => api.post('/v1/projects', { name: 'wanted', repository: `${repository}${i}` })
  const answers = await shuffled(() => Promise.all(Array.from({ length: 50 }, (_, i) => create(i))))
  const winners = answers.filter(({ statusCode }) => statusCode === 201)
  t.equal(winners.length, 1)
  t.ok(answers.filter(a => a.statusCode === 409).every(a => a.json().code === 'project-exists'))
  t.equal((await raw.get('projects', 'PROJECT#wanted', 'METADATA'))?.repository, winners[0]?.json().repository)
  t.equal(winners[0]?.headers.location, '/v1/projects/wanted')
})

t.test('names and repositories', async t => {
  const { api, raw } = await begin(t)
  for (const name of ['abc', 'a'.repeat(33), 'my-proj', 'my proj', 'proj#1', 'projé', '', 7, null, ['myproj']]) {
    const res = await api.post('/v1/projects', { name, repository })
    t.match(res.json(), { status: 400, code: 'invalid-request', errors: [{ path: 'body/name' }] }, String(name))
  }
  for (const bad of ['http://x.example/y', 'ftp://h/p', 'https://', 'git@host', 'x', 'https://h/a b']) {
    const res = await api.post('/v1/projects', { name: 'good1', repository: bad })
    t.match(res.json(), { status: 400, errors: [{ path: 'body/repository' }] }, bad)
  }
  t.strictSame(await raw.all('projects'), [], 'nothing was written')
  await raw.put('projects', { pk: 'PROJECT#old-name with.dots/é', sk: 'METADATA', repository })
  const res = await api.get(`/v1/projects/${encodeURIComponent('old-name with.dots/é')}`)
  t.strictSame(res.json(), { name: 'old-name with.dots/é', repository }, 'other stored names are served')
})

t.test('a token belongs to a project that exists', async t => {
  const { api, raw } = await begin(t)
  const res = await api.post('/v1/projects/nosuch1/tokens', {})
  t.match(res.json(), { status: 404, code: 'project-not-found' })
  t.match((await api.put('/v1/projects/nosuch1/targets/prod', { type: 'x', properties: {} })).json(), { status: 404 })
  t.match((await api.get('/v1/projects/nosuch1/tokens')).json(), { status: 404, code: 'project-not-found' })
  t.match((await api.get('/v1/projects/nosuch1/targets')).json(), { status: 404, code: 'project-not-found' })
  t.match((await api.get('/v1/projects/nosuch1/overview')).json(), { status: 404, code: 'project-not-found' })
  t.strictSame(await raw.all('projects'), [], 'nothing was written')
})

t.test('the life of a token', async t => {
  const { api } = await withProject(t)
  const create = (body: unknown) => api.post('/v1/projects/myproj/tokens', body)
  t.match((await create({})).json(), { createdAt: NOW_ISO, expiresAt: '2027-01-31T12:00:00.000Z' }, '365 days')
  t.match((await create({ expiresAt: '2026-02-01T01:00:00+01:00' })).json(), { expiresAt: '2026-02-01T00:00:00.000Z' })
  for (const body of [
    { expiresAt: NOW_ISO },
    { expiresAt: '2020-01-01T00:00:00Z' },
    { expiresAt: 'tomorrow' },
    { expiresAt: '9999-12-31T23:59:59-01:00' },
    { expiresInDays: 0 },
    { expiresInDays: '3' },
    { expiresInDays: 1, expiresAt: '2027-01-01T00:00:00Z' },
    { days: 3 }
  ]) {
    t.match((await create(body)).json(), { status: 400, code: 'invalid-request' }, JSON.stringify(body))
  }
})

t.test('a token ends at its millisecond', async t => {
  let now = NOW
  const { api } = await start(t, { domains: ['projects'], now: () => now })
  await api.post('/v1/projects', { name: 'myproj', repository })
  const { token } = (await api.post('/v1/projects/myproj/tokens', { expiresInDays: 1 })).json()
  const isActive = async () => (await api.post('/v1/projects/myproj/tokens/introspect', { token })).json().active
  now += 24 * 60 * 60 * 1000 - 1
  t.equal(await isActive(), true)
  now += 1
  t.equal(await isActive(), false)
  t.match((await api.get('/v1/projects/myproj/tokens')).json(), { items: [{ active: false }] })
})

t.test('introspection: whatever is wrong with a token, the answer is the same', async t => {
  const { api, raw } = await withProject(t)
  await api.post('/v1/projects', { name: 'other1', repository })
  const { token, tokenId } = (await api.post('/v1/projects/myproj/tokens', {})).json()
  const foreign = (await api.post('/v1/projects/other1/tokens', {})).json().token
  const ask = async (text: string) => (await api.post('/v1/projects/myproj/tokens/introspect', { token: text })).json()
  t.strictSame(await ask(token), { active: true, project: 'myproj', tokenId, expiresAt: '2027-01-31T12:00:00.000Z' })
  const [qt, project, id, secret] = token.split('.')
  const sealed = (parts: string[]) => `${parts.join('.')}.${crc(parts.join('.'))}`
  const wrong = {
    foreign,
    typo: token.replace(/.$/, (c: string) => (c === '0' ? '1' : '0')),
    'wrong secret': sealed([qt, project, id, [...secret].reverse().join('')]),
    'unknown id': sealed([qt, project, 'tkn-00000000000000000000000000000000', secret]),
    'unknown project': sealed([qt, 'nosuch1', id, secret]),
    'a project no key can hold': sealed([qt, 'x'.repeat(2000), id, secret]),
    'a project that is none': sealed([qt, 'myproj%23', id, secret]),
    'a project of control characters': sealed([qt, 'myproj%00', id, secret]),
    'no text': sealed([qt, '%ff', id, secret]),
    'a very long one': 'x'.repeat(10_000),
    garbage: '💥 not a token'
  }
  for (const [what, text] of Object.entries(wrong)) t.strictSame(await ask(text), { active: false }, what)
  await raw.put('projects', {
    pk: 'PROJECT#myproj',
    sk: `TOKEN#${id}`,
    created_at: NOW_ISO,
    expires_at: '2099-01-01T00:00:00Z'
  })
  t.strictSame(await ask(token), { active: false }, 'a token without a hash never authenticates')
})

function crc(text: string): string {
  let crc = ~0
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (~crc >>> 0).toString(16).padStart(8, '0')
}

t.test('rotation ends the old token after the grace period, and never prolongs it', async t => {
  let now = NOW
  const { api } = await start(t, { domains: ['projects'], now: () => now })
  await api.post('/v1/projects', { name: 'myproj', repository })
  const make = async (body: unknown) => (await api.post('/v1/projects/myproj/tokens', body)).json()
  const rotate = (id: string, body?: unknown) => api.post(`/v1/projects/myproj/tokens/${id}/rotate`, body)
  const isActive = async (token: string) =>
    (await api.post('/v1/projects/myproj/tokens/introspect', { token })).json().active

  const old = await make({})
  const next = (await rotate(old.tokenId, { graceSeconds: 60 })).json()
  t.equal(await isActive(old.token), true)
  now += 60_000
  t.strictSame([await isActive(old.token), await isActive(next.token)], [false, true])

  const short = await make({ expiresAt: new Date(now + 5000).toISOString() })
  t.equal((await rotate(short.tokenId, { graceSeconds: 3600 })).statusCode, 201)
  t.match((await api.get(`/v1/projects/myproj/tokens/${short.tokenId}`)).json(), { expiresAt: short.expiresAt })

  const atOnce = await make({})
  t.equal((await rotate(atOnce.tokenId)).statusCode, 201, 'no body: no grace')
  t.equal(await isActive(atOnce.token), false)
  t.match((await rotate('tkn-nosuch')).json(), { status: 404, code: 'token-not-found' })
  t.match((await api.post('/v1/projects/nosuch1/tokens/tkn-1/rotate', {})).json(), {
    status: 404,
    code: 'project-not-found'
  })
  t.match((await rotate(old.tokenId, { graceSeconds: -1 })).json(), { status: 400 })
})

t.test('lists give every token and target exactly once, in pages', async t => {
  const { api, raw } = await withProject(t)
  for (let i = 0; i < 60; i++) {
    await raw.put('projects', { pk: 'PROJECT#myproj', sk: `TOKEN#tkn-${i}`, created_at: NOW_ISO, expires_at: NOW_ISO })
    await raw.put('projects', { pk: 'PROJECT#myproj', sk: `TARGET#t${i}`, name: `t${i}`, type: 'x', properties: {} })
  }
  for (const [list, id] of [
    ['tokens', 'tokenId'],
    ['targets', 'name']
  ] as const) {
    const first = await api.get(`/v1/projects/myproj/${list}`)
    t.equal(first.json().items.length, 25, 'a page has 25')
    t.match(first.headers.link, /^<\/v1\/projects\/myproj\/\w+\?cursor=[\w%-]+>; rel="next"$/)
    for (const limit of [1, 7, 59, 60, 100]) {
      const items = await walk(api, `/v1/projects/myproj/${list}?limit=${limit}`)
      t.equal(new Set(items.map(item => item[id])).size, 60, `${list} by ${limit}`)
      t.equal(items.length, 60)
    }
  }
})

t.test('a page that DynamoDB cuts at its megabyte is not the end', async t => {
  const { api, raw } = await withProject(t)
  const properties = { text: 'x'.repeat(100_000) }
  for (let i = 0; i < 25; i++) {
    await raw.put('projects', { pk: 'PROJECT#myproj', sk: `TARGET#t${i}`, name: `t${i}`, type: 'x', properties })
  }
  t.ok((await api.get('/v1/projects/myproj/targets?limit=100')).json().items.length < 25)
  t.equal((await walk(api, '/v1/projects/myproj/targets?limit=100')).length, 25)
})

t.test('rules of aws_account targets', async t => {
  const { api, raw } = await withProject(t)
  const url = '/v1/projects/myproj/targets/production'
  const put = (properties: unknown) => api.put(url, { type: 'aws_account', properties })
  const policy = 'arn:aws:iam::aws:policy/ReadOnlyAccess'
  const wrong: [unknown, string[]][] = [
    [{}, ['body/properties/credential_type', 'body/properties/role_arn']],
    [{ ...role, credential_type: 'static' }, ['body/properties/credential_type']],
    [{ ...role, role_arn: 'arn:aws:iam::12:role/x' }, ['body/properties/role_arn']],
    [{ ...role, role_arn: 'arn:aws:s3:::bucket' }, ['body/properties/role_arn']],
    [{ ...role, policy_arns: policy }, ['body/properties/policy_arns']],
    [{ ...role, policy_arns: Array(6).fill(policy) }, ['body/properties/policy_arns']],
    [{ ...role, policy_arns: [policy, 'nonsense'] }, ['body/properties/policy_arns']],
    [{ ...role, policy_document: '{' }, ['body/properties/policy_document']],
    [{ ...role, policy_document: { Version: '2012-10-17' } }, ['body/properties/policy_document']]
  ]
  for (const [properties, paths] of wrong) {
    const res = await put(properties)
    t.equal(res.statusCode, 400)
    t.strictSame(
      res.json().errors.map((e: { path: string }) => e.path),
      paths
    )
  }
  t.equal((await raw.query('projects', 'PROJECT#myproj')).length, 1, 'nothing was written')
  const full = { ...role, policy_arns: Array(5).fill(policy), policy_document: '{"Version":"2012-10-17"}' }
  t.equal((await put(full)).statusCode, 201)
  const patch = (properties: unknown) => api.patch(url, { properties })
  t.match((await patch({ policy_arns: Array(6).fill(policy) })).json(), { status: 400 }, 'the limit holds in a patch')
  t.match((await patch({ role_arn: null })).json(), { status: 400 })
  t.match((await patch({ credential_type: 'static' })).json(), { status: 400 })
  t.strictSame((await patch({ policy_arns: null, note: 'x' })).json().properties, {
    ...role,
    policy_document: full.policy_document,
    note: 'x'
  })
  await raw.put('projects', {
    pk: 'PROJECT#myproj',
    sk: 'TARGET#legacy',
    name: 'legacy',
    type: 'aws_account',
    properties: { ...role, credential_type: 'static' }
  })
  const legacy = '/v1/projects/myproj/targets/legacy'
  t.match((await api.put(legacy, { type: 'aws_account', properties: role })).json(), {
    status: 409,
    code: 'credential-type-fixed'
  })
  t.match((await api.patch(legacy, { properties: { credential_type: 'assumed_role' } })).json(), { status: 409 })
  const { etag = '' } = (await api.get(legacy)).headers
  const guarded = await api.put(legacy, { type: 'x', properties: {} }, { 'if-match': String(etag) })
  t.match(guarded.json(), { status: 409, code: 'credential-type-fixed' }, 'not 412: nothing has changed')
})

t.test('an account stored as text is held to the same rules', async t => {
  const { api, raw } = await withProject(t)
  const url = '/v1/projects/myproj/targets/textual'
  const store = (properties: object) =>
    raw.put('projects', {
      pk: 'PROJECT#myproj',
      sk: 'TARGET#textual',
      type: 'aws_account',
      properties: JSON.stringify(properties),
      kept: 1
    })
  await store({ ...role, credential_type: 'static' })
  const fixed = { status: 409, code: 'credential-type-fixed' }
  t.match((await api.put(url, { type: 'aws_account', properties: role })).json(), fixed)
  t.match((await api.put(url, { type: 'x', properties: {} })).json(), fixed)
  t.match((await api.patch(url, { properties: { credential_type: 'assumed_role' } })).json(), fixed)
  await store(role)
  t.match((await api.patch(url, { properties: { role_arn: null } })).json(), { status: 400 })
  t.equal((await api.put(url, { type: 'aws_account', properties: { ...role, note: 'x' } })).statusCode, 200)
  t.match(await raw.get('projects', 'PROJECT#myproj', 'TARGET#textual'), { properties: { note: 'x' }, kept: 1 })
})

t.test('sets that another program stored are compared and kept as sets', async t => {
  const { api, raw } = await withProject(t)
  const policy_arns = new Set(['arn:aws:iam::aws:policy/ReadOnlyAccess'])
  const properties = { ...role, policy_arns, deep: [{ numbers: new Set([1, 2]), bytes: new Set([Buffer.from('x')]) }] }
  await raw.put('projects', { pk: 'PROJECT#myproj', sk: 'TARGET#sets', type: 'aws_account', properties })
  const url = '/v1/projects/myproj/targets/sets'
  const merged = await api.patch(url, { properties: { note: { a: 1 } } })
  t.match(merged.json(), {
    properties: { policy_arns: [...policy_arns], deep: [{ numbers: [1, 2], bytes: ['eA=='] }] }
  })
  const etag = () => api.get(url).then(({ headers }) => ({ 'if-match': String(headers.etag) }))
  t.equal((await api.patch(url, { properties: { note: 'x' } }, await etag())).statusCode, 200)
  const stored = await raw.get('projects', 'PROJECT#myproj', 'TARGET#sets')
  t.match(stored?.properties, { policy_arns, deep: [{ numbers: new Set([1, 2]) }], note: 'x' })
  t.equal((await api.delete(url, await etag())).statusCode, 204)
})

t.test('a target that is stored under another name is served, and none is added under one', async t => {
  const { api, raw } = await withProject(t)
  await raw.put('projects', { pk: 'PROJECT#myproj', sk: 'TARGET#old-1', type: 'x', properties: { a: 1 }, kept: 1 })
  const url = '/v1/projects/myproj/targets/old-1'
  const body = { type: 'y', properties: { b: 2 } }
  t.equal((await api.patch(url, { properties: { a: 2 } })).statusCode, 200)
  t.equal((await api.put(url, body)).statusCode, 200)
  t.match(await raw.get('projects', 'PROJECT#myproj', 'TARGET#old-1'), { ...body, kept: 1 })
  const { etag = '' } = (await api.get(url)).headers
  t.equal((await api.put(url, body, { 'if-match': String(etag) })).statusCode, 200)
  t.equal((await api.delete(url)).statusCode, 204)
  for (const name of ['old-1', 'abc', '1abc', '_abc', 'a'.repeat(33), 'abcd.e', 'abcdé']) {
    const address = `/v1/projects/myproj/targets/${encodeURIComponent(name)}`
    t.match((await api.put(address, body)).json(), { status: 400, errors: [{ path: 'params/target' }] }, name)
    t.equal((await api.put(address, body, { 'if-none-match': '*' })).statusCode, 400, name)
  }
  t.equal((await raw.query('projects', 'PROJECT#myproj')).length, 1, 'nothing was added')
})

t.test('a merge that is too long for an expression of DynamoDB is no failure', async t => {
  const { api, seen } = await withProject(t)
  const url = '/v1/projects/myproj/targets/deep'
  const nested = (levels: number, value: unknown): unknown => (levels ? { level: nested(levels - 1, value) } : value)
  const manyNames = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`n${i}`, i]))
  await api.put(url, { type: 'x', properties: { level: nested(29, { old: 1 }) } })
  for (const properties of [{ level: nested(29, { new: 2 }) }, manyNames, { level: nested(12, manyNames) }]) {
    seen.length = 0
    t.equal((await api.patch(url, { properties })).statusCode, 200)
    for (const { input } of seen) {
      for (const name of ['UpdateExpression', 'ConditionExpression']) {
        t.ok(String(input[name] ?? '').length <= 4096, `${name} of ${String(input[name]).length} characters`)
      }
    }
  }
  t.match((await api.get(url)).json().properties, { level: nested(29, { old: 1, new: 2 }) as object, n199: 199 })
})

t.test('PATCH merges as RFC 7396 says, whatever is stored', async t => {
  const { api, raw } = await withProject(t)
  const url = '/v1/projects/myproj/targets/merged'
  const cases: [stored: unknown, patch: Record<string, unknown>, merged: unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 'text' }, { a: { b: 1 } }, { a: { b: 1 } }],
    [
      { a: { b: { c: 1 } } },
      { a: { b: { d: 2 } }, 'x.y': 1, '#z': { ' ': 1 } },
      { a: { b: { c: 1, d: 2 } }, 'x.y': 1, '#z': { ' ': 1 } }
    ],
    ['{"a":{"b":1}}', { a: { c: 2 } }, { a: { b: 1, c: 2 } }],
    [{ gone: 1 }, Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, i])), 'many']
  ]
  for (const [stored, patch, merged] of cases) {
    await raw.put('projects', {
      pk: 'PROJECT#myproj',
      sk: 'TARGET#merged',
      name: 'merged',
      type: 'x',
      properties: stored,
      kept: 1
    })
    const res = await api.patch(url, { properties: patch })
    const expected = merged === 'many' ? { gone: 1, ...patch } : merged
    t.strictSame(res.json(), { name: 'merged', type: 'x', properties: expected }, JSON.stringify(patch).slice(0, 80))
    t.match(await raw.get('projects', 'PROJECT#myproj', 'TARGET#merged'), { properties: expected as object, kept: 1 })
  }
  t.match((await api.patch('/v1/projects/myproj/targets/nosuch', { properties: { a: 1 } })).json(), {
    status: 404,
    code: 'target-not-found'
  })
  t.equal((await raw.query('projects', 'PROJECT#myproj')).length, 2, 'a patch creates nothing')
})

t.test('concurrent merges all arrive', async t => {
  const { api, shuffled } = await withProject(t)
  const url = '/v1/projects/myproj/targets/shared'
  await api.put(url, { type: 'x', properties: { deep: {} } })
  const write = (i: number) => api.patch(url, { properties: { [`k${i}`]: i, deep: { [`d${i}`]: i } } })
  const writes = await shuffled(() => Promise.all(Array.from({ length: 40 }, (_, i) => write(i))))
  t.ok(writes.every(({ statusCode }) => statusCode === 200))
  const { properties } = (await api.get(url)).json()
  t.equal(Object.keys(properties).length, 41)
  t.equal(Object.keys(properties.deep).length, 40)
})

t.test('PUT of a target by many: one 201, and the last of the others', async t => {
  const { api, shuffled } = await withProject(t)
  const url = '/v1/projects/myproj/targets/raced'
  const put = (i: number) => api.put(url, { type: 'x', properties: { i } })
  const puts = await shuffled(() => Promise.all(Array.from({ length: 30 }, (_, i) => put(i))))
  const codes = puts.map(({ statusCode }) => statusCode)
  t.equal(codes.filter(code => code === 201).length, 1)
  t.equal(codes.filter(code => code === 200).length, 29)
})

t.test('If-Match and If-None-Match are decided in the write', async t => {
  const { api, seen, shuffled } = await withProject(t)
  const target = '/v1/projects/myproj/targets/guarded'
  const body = (n: number) => ({ type: 'x', properties: { n, map: { list: [1, { a: null }] } } })
  t.equal((await api.put(target, body(1), { 'if-match': '*' })).statusCode, 412, 'nothing there to match')
  t.equal((await api.put(target, body(1), { 'if-none-match': '*' })).statusCode, 201)
  t.equal((await api.put(target, body(2), { 'if-none-match': '*' })).statusCode, 412)
  const { etag } = (await api.get(target)).headers as { etag: string }
  t.equal((await api.get(target, { 'if-none-match': etag })).statusCode, 304)
  t.equal((await api.get(target, { 'if-none-match': '"other"' })).statusCode, 200)
  const guarded = (i: number) => api.put(target, body(i + 10), { 'if-match': etag })
  const tries = await shuffled(() => Promise.all(Array.from({ length: 20 }, (_, i) => guarded(i))))
  t.equal(tries.filter(({ statusCode }) => statusCode === 200).length, 1, 'one winner')
  t.equal(tries.filter(({ statusCode }) => statusCode === 412).length, 19)
  t.equal((await api.patch(target, { properties: { x: 1 } }, { 'if-match': etag })).statusCode, 412)
  t.equal((await api.delete(target, { 'if-match': etag })).statusCode, 412)
  const fresh = (await api.get(target)).headers.etag as string
  t.equal((await api.patch(target, { properties: { x: 1 } }, { 'if-match': `"a", ${fresh}` })).statusCode, 200)
  const last = (await api.get(target)).headers.etag as string
  t.equal((await api.delete(target, { 'if-match': `W/${last}` })).statusCode, 412, 'a weak tag does not match')
  t.equal((await api.delete(target, { 'if-match': last })).statusCode, 204)
  t.equal((await api.delete(target, { 'if-match': last })).statusCode, 404, 'what is gone is not there to match')
  t.equal((await api.patch(target, { properties: {} }, { 'if-match': '*' })).statusCode, 404)

  const project = '/v1/projects/myproj'
  const tag = (await api.get(project)).headers.etag as string
  t.equal((await api.patch(project, { repository: 'git@a:b' }, { 'if-match': tag })).statusCode, 200)
  t.equal((await api.patch(project, { repository: 'git@a:c' }, { 'if-match': tag })).statusCode, 412)
  t.equal((await api.delete(project, { 'if-match': tag })).statusCode, 412)
  const { tokenId } = (await api.post(`${project}/tokens`, {})).json()
  t.equal((await api.delete(`${project}/tokens/${tokenId}`, { 'if-match': '"x"' })).statusCode, 412)
  const tokenTag = (await api.get(`${project}/tokens/${tokenId}`)).headers.etag as string
  t.equal((await api.delete(`${project}/tokens/${tokenId}`, { 'if-match': tokenTag })).statusCode, 204)
  const newest = (await api.get(project)).headers.etag as string
  seen.length = 0
  t.equal((await api.patch(project, { repository: 'git@a:c' }, { 'if-match': newest })).statusCode, 200)
  t.equal((await api.delete(project, { 'if-match': newest })).statusCode, 412)
  t.equal((await api.delete(project, { 'if-match': (await api.get(project)).headers.etag as string })).statusCode, 204)
  const reads = seen.filter(({ operation }) => operation === 'GetItem').map(({ input }) => input.ConsistentRead)
  t.strictSame(reads, [true, true, undefined, true], 'an old copy would not know the newest tag')
})

t.test('what is deleted is gone, and gone the second time', async t => {
  const { api } = await withProject(t)
  const { tokenId } = (await api.post('/v1/projects/myproj/tokens', {})).json()
  t.equal((await api.delete(`/v1/projects/myproj/tokens/${tokenId}`)).statusCode, 204)
  t.match((await api.delete(`/v1/projects/myproj/tokens/${tokenId}`)).json(), { status: 404, code: 'token-not-found' })
  t.match((await api.delete('/v1/projects/myproj/targets/nosuch')).json(), { status: 404, code: 'target-not-found' })
  t.equal((await api.delete('/v1/projects/myproj')).statusCode, 204)
  t.equal((await api.delete('/v1/projects/myproj')).statusCode, 204, 'deleting a project is idempotent')
  t.equal((await api.get('/v1/projects/myproj')).statusCode, 404)
})

t.test('the secret is shown once and stands nowhere else', async t => {
  const log: string[] = []
  const { app, raw } = await start(t, { domains: ['projects'], env: { ADMIN_TOKEN: 'admin-secret' }, log })
  const admin = callers(app).as('admin-secret')
  await admin.post('/v1/projects', { name: 'myproj', repository })
  const { token } = (await admin.post('/v1/projects/myproj/tokens', {})).json()
  const secret = token.split('.')[3] as string
  const own = callers(app).as(token)
  const answers = [
    await own.get('/v1/projects/myproj'),
    await own.get('/v1/projects/myproj/tokens'),
    await own.get('/v1/projects/myproj/overview'),
    await own.get('/v1/projects/other'),
    await own.post('/v1/projects/myproj/tokens', {}),
    await admin.post('/v1/projects/myproj/tokens/introspect', { token }),
    await admin.post('/v1/projects/myproj/tokens/introspect', { token: `${token} ` }),
    await admin.post('/v1/projects/myproj/tokens/introspect', { token, more: token }),
    await callers(app).as(`${token}x`).get('/v1/projects/myproj'),
    await own.get('/v1/projects/myproj', { 'x-request-id': token }),
    await admin.get(`/v1/projects/${token}`),
    await admin.get(`/v1/projects/myproj/tokens/${token}`),
    await admin.get(`/v1/projects/myproj/tokens/${token.replaceAll('.', '%2E')}`),
    await admin.get(`/v1/projects/myproj?access_token=${token}`),
    await admin.get(`/v1/projects/myproj?my_secret=${secret}`),
    await admin.get(`/nosuch/${token}?admin-secret`),
    await admin.post('/v1/projects', { name: token, repository: token, [token]: token }),
    await admin.post(`/v1/projects/myproj/tokens/${token}/rotate`)
  ]
  for (const answer of answers) t.notMatch(answer.body + JSON.stringify(answer.headers), secret)
  t.notMatch(JSON.stringify(await raw.all('projects')), secret, 'not in the table')
  t.ok(log.length > 10)
  t.notMatch(log.join(''), secret, 'not in the log')
  t.notMatch(log.join(''), 'admin-secret')
})
