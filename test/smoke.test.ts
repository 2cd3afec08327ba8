import t from 'tap'

t.test('smoke', async t => t.ok(true))
