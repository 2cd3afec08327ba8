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
