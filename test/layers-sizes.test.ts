import t from 'tap'
import { start } from './helpers.js'
import { at, layerBody, publish, REGION } from './layers-helpers.js'

t.test('texts are stored up to what an item holds, and can still be deprecated', async t => {
  const { api, raw } = await start(t, { domains: ['layers'] })
  const fits = await api.post('/v1/layers', layerBody({ requirementsTxt: 'é'.repeat(204_000) }))
  t.equal(fits.statusCode, 201)
  t.equal((await api.post('/v1/layers', layerBody())).statusCode, 201, 'the large one is deprecated')
  t.equal((await api.get(at('/1'))).json().requirementsTxt.length, 204_000)
  for (const size of [204_700, 210_000]) {
    const tooLarge = await api.post('/v1/layers', layerBody({ requirementsTxt: 'é'.repeat(size) }))
    t.match(tooLarge.json(), { status: 413, code: 'item-too-large' })
  }
  const build = { package: 'x', packageVersion: '1', requirementsTxt: 'x'.repeat(410_000) }
  t.match((await api.post('/v1/builds', build)).json(), { status: 413, code: 'item-too-large' })
  const body = await api.post('/v1/layers', layerBody({ requirementsTxt: 'x'.repeat(1_100_000) }))
  t.match(body.json(), { status: 413, code: 'body-too-large' })
  t.equal((await raw.query('layers', 'lyr#eu-west-1.requests')).length, 3)
})

t.test('a text of exactly the size that fits goes the whole way of a version', async t => {
  const { api } = await start(t, { domains: ['layers'] })
  const package256 = `p${'a'.repeat(255)}`
  const put = (size: number) =>
    api.post('/v1/layers', layerBody({ package: package256, requirementsTxt: 'x'.repeat(size) }))
  let [most, tooMuch] = [400_000, 409_600]
  while (tooMuch - most > 1) {
    const size = Math.floor((most + tooMuch) / 2)
    if ((await put(size)).statusCode === 201) most = size
    else tooMuch = size
  }
  t.ok(most > 408_000, `${most} bytes beside a long name`)
  t.equal((await put(most)).statusCode, 201, 'exactly as much as fits')
  const full = `/v1/layers/${REGION}/${package256}`
  const { version } = (await api.get(`${full}/latest`)).json()
  t.match((await put(most + 1)).json(), { status: 413, code: 'item-too-large' }, 'one byte more')
  t.equal((await api.put(`${full}/channels/lts`, { version })).statusCode, 201, 'a full row can be held')
  t.equal((await put(1)).statusCode, 201, 'and deprecated')
  t.equal((await api.delete(`${full}/channels/lts`)).statusCode, 204, 'and expire')
  t.equal((await api.patch(`${full}/${version}`, { expiresAt: null })).statusCode, 200, 'and be kept')
  t.equal((await api.delete(`${full}/${version}`)).statusCode, 204, 'and be deleted')
})

t.test('a channel that does not fit into a row is refused', async t => {
  const started = await start(t, { domains: ['layers'] })
  const { api, raw } = started
  await publish(started, 1)
  const row = await raw.get('layers', 'lyr#eu-west-1.requests', 'lyrVrsn#v1')
  await raw.put('layers', { ...row, more: 'x'.repeat(409_250) })
  const held = await api.put(at(`/channels/${'x'.repeat(64)}`), { version: 1 })
  t.match(held.json(), { status: 413, code: 'item-too-large' })
})
