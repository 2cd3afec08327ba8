import type { Test } from 'tap'
import { start } from '../helpers.js'

/** Many users claim one email at once; one gets it, gives it up, and they claim again, some by changing theirs. */
export async function claimTogether(t: Test, count: number): Promise<void> {
  const { api, raw } = await start(t, { domains: ['realtime'] })
  const claim = async () => {
    const all = await Promise.all(
      Array.from({ length: count }, (_, i) => api.put(`/v1/users/u${i}`, { email: 'one@example.com' }))
    )
    const codes = all.map(({ statusCode }) => statusCode)
    t.equal(codes.filter(code => code < 300).length, 1, 'one gets it')
    t.equal(codes.filter(code => code === 409).length, count - 1, 'the others are told')
    return codes.findIndex(code => code < 300)
  }
  const first = await claim()
  for (let i = 0; i < count; i += 2) if (i !== first) await api.put(`/v1/users/u${i}`, { email: `u${i}@example.com` })
  t.equal((await api.put(`/v1/users/u${first}`, { email: 'other@example.com' })).statusCode, 200)
  const second = await claim()
  t.equal((await api.delete(`/v1/users/u${second}`)).statusCode, 204)
  const third = await claim()

  const items = await raw.all('realtime')
  const holders = items.filter(item => String(item.pk).startsWith('user#') && item.email === 'one@example.com')
  t.strictSame(
    holders.map(item => item.userId),
    [`u${third}`],
    'one user has it'
  )
  const claims = items.filter(item => String(item.pk).startsWith('email#'))
  const users = items.filter(item => String(item.pk).startsWith('user#'))
  const pairs = (list: typeof items) => list.map(item => `${item.userId} ${item.email}`).sort()
  t.strictSame(pairs(claims), pairs(users), 'every user has its claim, and nothing else is claimed')
}

/** Users who take, change and give up a few emails, all at once and in any order: an email is never two users'. */
export async function contend(t: Test, { users, rounds }: { users: number; rounds: number }): Promise<void> {
  const { api, raw, shuffled } = await start(t, { domains: ['realtime'] })
  const emails = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => `${name}@example.com`)
  const codes = new Map<number, number>()
  const act = async (i: number, round: number) => {
    const url = `/v1/users/u${i}`
    const email = emails[(i * 7 + round * 5) % emails.length]
    const answer = (i + round) % 4 === 0 ? await api.delete(url) : await api.put(url, { email })
    codes.set(answer.statusCode, (codes.get(answer.statusCode) ?? 0) + 1)
    if (![200, 201, 204, 404, 409].includes(answer.statusCode)) t.fail(`${answer.statusCode} ${answer.body}`)
  }
  const pairs = (items: Record<string, unknown>[], prefix: string) =>
    items.filter(({ pk }) => String(pk).startsWith(prefix)).map(({ userId, email }) => `${email} ${userId}`)
  for (let round = 0; round < rounds; round++) {
    await shuffled(() => Promise.all(Array.from({ length: users }, (_, i) => act(i, round))))
    const items = await raw.all('realtime')
    const holders = pairs(items, 'user#')
    const taken = new Set(holders.map(pair => pair.split(' ')[0]))
    if (taken.size < holders.length) t.fail(`${holders} after round ${round}`)
    t.strictSame(pairs(items, 'email#').sort(), holders.sort(), `claims and users after round ${round}`)
  }
  t.comment(`answers: ${[...codes].map(([code, times]) => `${times} x ${code}`).join(', ')}`)
  t.ok(codes.has(201) && codes.has(409), 'there was something to contend for')
}
