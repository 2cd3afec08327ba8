import t from 'tap'
import { start } from './helpers.js'

type Input = Record<string, unknown>

/** A request in the words of the document: placeholders replaced, keys in place. */
function said(input: Input) {
  const names = (input.ExpressionAttributeNames ?? {}) as Record<string, string>
  const values = (input.ExpressionAttributeValues ?? {}) as Record<string, { S?: string }>
  const plain = (expression: unknown) =>
    typeof expression === 'string'
      ? expression.replace(/[#:]\w+/g, part => names[part] ?? values[part]?.S ?? part)
      : undefined
  return {
    index: input.IndexName,
    key: input.Key ?? plain(input.KeyConditionExpression),
    filter: plain(input.FilterExpression)
  }
}

t.test('the six query patterns are the document’s, to the letter', async t => {
  const { api, seen } = await start(t, { domains: ['realtime'] })
  const request = async (url: string) => {
    const before = seen.length
    await api.get(url)
    t.equal(seen.length, before + 1, `${url} is one request`)
    return said(seen.at(-1)?.input as Input)
  }
  const only = (key: string) => ({ index: undefined, key: { pk: { S: key }, sk: { S: key } }, filter: undefined })

  t.strictSame(await request('/v1/states/foo'), only('state#foo'), 'lookup state')
  t.strictSame(
    await request('/v1/states/foo/subscriptions'),
    {
      index: undefined,
      key: 'pk = state#foo and begins_with(sk, subscription#)',
      filter: 'status = subscribed'
    },
    'lookup active subscriptions by state'
  )
  t.strictSame(
    await request('/v1/connections/conn-1234/subscriptions'),
    {
      index: 'gsi1',
      key: 'gsi1pk = connection#conn-1234 and begins_with(gsi1sk, status#subscribed#)',
      filter: undefined
    },
    'lookup active subscriptions by connection'
  )
  t.strictSame(await request('/v1/users/ann'), only('user#ann'), 'lookup user')
  t.strictSame(
    await request('/v1/users?email=ann%40example.com'),
    { index: 'gsi1', key: 'gsi1pk = user#ann@example.com', filter: undefined },
    'lookup user by email address'
  )
  t.strictSame(await request('/v1/connections/conn-1234'), only('connection#conn-1234'), 'lookup connection')
})
