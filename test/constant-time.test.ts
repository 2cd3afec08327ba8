import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import t from 'tap'
import { presentToken } from '../src/services/tokens.js'
import { callers, start, type Test } from './helpers.js'

/** Every comparison in constant time while the test runs: the bytes that were compared. */
function watchComparisons(t: Test): number[] {
  const { timingSafeEqual } = crypto
  const compared: number[] = []
  crypto.timingSafeEqual = (a, b) => {
    compared.push(a.byteLength)
    return timingSafeEqual(a, b)
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    crypto.timingSafeEqual = timingSafeEqual
    syncBuiltinESMExports()
  })
  return compared
}

t.test('secrets are compared in constant time, an unknown token as often as a wrong one', async t => {
  const compared = watchComparisons(t)
  let now = Date.parse('2026-01-31T12:00:00Z')
  const { app, raw, counted } = await start(t, { domains: ['projects'], env: { ADMIN_TOKEN: 'admin' }, now: () => now })
  const admin = callers(app).as('admin')
  await admin.post('/v1/projects', { name: 'myproj', repository: 'git@example.com:x' })
  const make = async (body: object) => (await admin.post('/v1/projects/myproj/tokens', body)).json()
  const right = await make({})
  const short = await make({ expiresInDays: 1 })
  now += 24 * 60 * 60 * 1000
  await raw.put('projects', {
    pk: 'PROJECT#myproj',
    sk: 'TOKEN#tkn-foreign',
    created_at: 'x',
    expires_at: '2099-01-01'
  })
  const secret = 'x'.repeat(43)
  const token = (project: string, tokenId: string) => presentToken({ project, tokenId, secret })
  const costs = async (bearer: string) => {
    compared.length = 0
    const { result, requests } = await counted(() => callers(app).as(bearer).get('/v1/projects/myproj'))
    return { status: result.statusCode, body: { ...result.json(), instance: '' }, compared: [...compared], requests }
  }

  t.match(await costs('admin'), { status: 200, compared: [32] }, 'the admin’s')
  t.match(await costs('a'), { status: 401, compared: [32] }, 'whatever its length')
  const own = await costs(right.token)
  t.match(own, { status: 200, compared: [32, 32] }, 'a project’s own')
  const wrong = await costs(token('myproj', right.tokenId))
  t.match(wrong, { status: 401, compared: [32, 32] }, 'a wrong secret')
  for (const [what, text] of Object.entries({
    'an unknown id': token('myproj', 'tkn-00000000000000000000000000000000'),
    'an unknown project': token('nosuch1', right.tokenId),
    'one without a hash': token('myproj', 'tkn-foreign'),
    'an expired one': short.token
  })) {
    t.strictSame(await costs(text), wrong, `${what} is answered like a wrong secret, and costs the same`)
  }
  const typo = await costs(`${right.token.slice(0, -1)}${right.token.endsWith('0') ? '1' : '0'}`)
  t.match(typo, { status: 401, requests: [] }, 'a typo is refused without a look at the table')
})
