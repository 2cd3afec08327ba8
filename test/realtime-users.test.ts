import t from 'tap'
import { claimTogether, contend } from './campaign/realtime-emails.js'
import { begin, SECONDS } from './realtime-helpers.js'

t.test('a user is made, changed, found and deleted within two requests each', async t => {
  const { api, counted, raw } = await begin(t)
  const put = (id: string, body: object) => counted(() => api.put(`/v1/users/${id}`, body))
  const made = await put('ann', { email: 'ann@example.com' })
  t.strictSame([made.result.statusCode, made.requests], [201, ['Query', 'TransactWriteItems']])
  const changed = await put('ann', { email: 'new@example.com', ttl: SECONDS + 60 })
  t.strictSame([changed.result.statusCode, changed.requests], [200, ['Query', 'TransactWriteItems']])
  const same = await put('ann', { email: 'new@example.com' })
  t.strictSame([same.result.statusCode, same.requests], [200, ['Query', 'TransactWriteItems']])
  const byId = await counted(() => api.get('/v1/users/ann'))
  t.strictSame([byId.result.json(), byId.requests], [{ userId: 'ann', email: 'new@example.com' }, ['GetItem']])
  const byEmail = await counted(() => api.get('/v1/users?email=new%40example.com'))
  t.strictSame([byEmail.result.json().items, byEmail.requests], [[byId.result.json()], ['Query']])
  t.strictSame((await api.get('/v1/users?email=ann%40example.com')).json(), { items: [], cursor: null })
  const gone = await counted(() => api.delete('/v1/users/ann'))
  t.strictSame([gone.result.statusCode, gone.requests], [204, ['GetItem', 'TransactWriteItems']])
  t.match((await api.delete('/v1/users/ann')).json(), { status: 404, code: 'user-not-found' })
  t.strictSame(await raw.all('realtime'), [], 'no claim is left')
})

t.test('an email is one user’s, until given up', async t => {
  const { api, clock } = await begin(t)
  await api.put('/v1/users/ann', { email: 'x@example.com' })
  t.match((await api.put('/v1/users/bob', { email: 'x@example.com' })).json(), { status: 409, code: 'email-taken' })
  t.equal((await api.get('/v1/users/bob')).statusCode, 404)
  await api.put('/v1/users/ann', { email: 'y@example.com' })
  t.equal((await api.put('/v1/users/bob', { email: 'x@example.com' })).statusCode, 201, 'given up by a change')
  t.match((await api.put('/v1/users/ann', { email: 'x@example.com' })).json(), { code: 'email-taken' })
  await api.delete('/v1/users/bob')
  t.equal((await api.put('/v1/users/ann', { email: 'x@example.com' })).statusCode, 200, 'given up by deletion')
  await api.put('/v1/users/eve', { email: 'e@example.com', ttl: SECONDS + 10 })
  clock.now += 10_000
  t.equal((await api.put('/v1/users/bob', { email: 'e@example.com' })).statusCode, 201, 'given up by expiry')
  t.equal((await api.put('/v1/users/eve', { email: 'e2@example.com' })).statusCode, 201, 'and the expired is anew')
  t.match((await api.get('/v1/users?email=e%40example.com')).json(), { items: [{ userId: 'bob' }] })
})

t.test('users whom others wrote, and change, keep their emails', async t => {
  const { api, raw } = await begin(t)
  const foreign = { pk: 'user#f', sk: 'user#f', gsi1pk: 'user#f@x', gsi1sk: 'user#f', userId: 'f', email: 'f@x' }
  await raw.put('realtime', foreign)
  t.match((await api.put('/v1/users/ann', { email: 'f@x' })).json(), { code: 'email-taken' }, 'without a claim')
  t.equal((await api.put('/v1/users/f', { email: 'f@x' })).statusCode, 200)
  await raw.put('realtime', { ...foreign, email: 'g@x', gsi1pk: 'user#g@x' })
  t.equal((await api.put('/v1/users/ann', { email: 'f@x' })).statusCode, 201, 'a claim that is left over')
  t.match((await api.put('/v1/users/bob', { email: 'g@x' })).json(), { code: 'email-taken' })
  t.equal((await api.put('/v1/users/f', { email: 'h@x' })).statusCode, 200)
  await raw.put('realtime', { ...foreign, email: 'f@x', gsi1pk: 'user#other' })
  t.equal((await api.put('/v1/users/f', { email: 'i@x' })).statusCode, 200, 'away from an email that is another’s')
  await raw.put('realtime', { ...foreign, email: 'f@x', gsi1pk: 'user#other' })
  t.equal((await api.delete('/v1/users/f')).statusCode, 204)
  t.match((await api.put('/v1/users/bob', { email: 'f@x' })).json(), { code: 'email-taken' }, 'ann’s claim stayed')
})

t.test('If-Match and If-None-Match', async t => {
  const { api } = await begin(t)
  const made = await api.put('/v1/users/ann', { email: 'a@x' }, { 'if-none-match': '*' })
  t.equal(made.statusCode, 201)
  t.equal((await api.put('/v1/users/ann', { email: 'b@x' }, { 'if-none-match': '*' })).statusCode, 412)
  const tag = { 'if-match': String(made.headers.etag) }
  t.equal((await api.put('/v1/users/ann', { email: 'b@x' }, tag)).statusCode, 200)
  t.equal((await api.put('/v1/users/ann', { email: 'c@x' }, tag)).statusCode, 412)
  t.equal((await api.delete('/v1/users/ann', tag)).statusCode, 412)
  const connection = await api.put('/v1/connections/c', { userId: 'ann' })
  const old = { 'if-match': String(connection.headers.etag) }
  t.equal((await api.put('/v1/connections/c', { userId: 'bob' }, old)).statusCode, 200)
  t.equal((await api.put('/v1/connections/c', { userId: 'eve' }, old)).statusCode, 412)
  t.equal((await api.delete('/v1/connections/c', old)).statusCode, 412)
  t.equal((await api.put('/v1/connections/c', { userId: 'eve' }, { 'if-none-match': '*' })).statusCode, 412)
  t.equal((await api.put('/v1/connections/none', { userId: 'eve' }, old)).statusCode, 412)
  const both = { 'if-match': '*', 'if-none-match': '*' }
  for (const id of ['c', 'none']) {
    t.equal((await api.put(`/v1/connections/${id}`, { userId: 'eve' }, both)).statusCode, 412, 'both never hold')
    t.equal((await api.put(`/v1/states/${id}`, { value: 1 }, both)).statusCode, 412)
    t.equal((await api.put(`/v1/users/${id}`, { email: 'e@x' }, both)).statusCode, 412)
  }
})

t.test('twenty claim one email at once', t => claimTogether(t, 20))
t.test('emails that change hands at once', t => contend(t, { users: 8, rounds: 8 }))
