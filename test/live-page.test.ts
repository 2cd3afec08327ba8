import t from 'tap'
import { noBrowser, openPage } from './browser.js'
import { listen, until } from './live-helpers.js'

t.test('the page and its parts are served', async t => {
  const { api } = await listen(t)
  for (const [url, type] of [
    ['/live', /^text\/html/],
    ['/live/live.js', /^text\/javascript/],
    ['/live/live.css', /^text\/css/]
  ] as const) {
    const response = await api.get(url)
    t.equal(response.statusCode, 200, url)
    t.match(response.headers['content-type'], type)
  }
})

t.test('two tabs see a value move', { skip: noBrowser }, async t => {
  const { url, api, app } = await listen(t)
  const { newPage, complaints } = await openPage(t, url)
  const one = await newPage()
  await one.goto(`${url}/live?state=tabs`)
  await one.getByText('no value yet').waitFor()
  const two = await newPage()
  await two.goto(
    new URL((await one.getByRole('link', { name: 'second tab' }).getAttribute('href')) as string, url).href
  )
  for (const page of [one, two]) await page.getByText('Live', { exact: true }).waitFor()
  const slider = (page: typeof one, value: string) =>
    until(`${value} on the slider`, async () => (await page.getByRole('slider').inputValue()) === value)

  await one.getByRole('slider').fill('42')
  await two.locator('#value', { hasText: '42' }).waitFor()
  await slider(two, '42')
  await one.waitForTimeout(600)
  await two.getByRole('slider').fill('7')
  await one.locator('#value', { hasText: '7' }).waitFor()
  await slider(one, '7')
  await two.getByLabel('Any JSON').fill('{"home": 2')
  await two.getByRole('button', { name: 'Set' }).click()
  await two.getByText('That is not JSON').waitFor()
  await two.getByLabel('Any JSON').fill('{"home": 2}')
  await two.getByRole('button', { name: 'Set' }).click()
  await one.locator('#value', { hasText: '{"home":2}' }).waitFor()
  await api.put('/v1/states/tabs', { value: 'from REST' })
  await one.locator('#value', { hasText: '"from REST"' }).waitFor()
  await two.locator('#log li', { hasText: 'version 4: "from REST"' }).waitFor()

  for (const client of app.websocketServer.clients) client.terminate()
  await api.put('/v1/states/tabs', { value: 'while they were away' })
  for (const page of [one, two]) await page.locator('#value', { hasText: 'while they were away' }).waitFor()
  await api.delete('/v1/states/tabs')
  await one.getByText('no value yet').waitFor()

  await api.put('/v1/states/other', { value: 'another' })
  await one.getByLabel('State').fill('a#b')
  await one.getByLabel('State').press('Tab')
  t.equal(await one.locator('#name:invalid').count(), 1, 'a name that cannot be is told by the field')
  await one.getByLabel('State').fill('other')
  await one.getByLabel('State').press('Tab')
  await one.locator('#value', { hasText: '"another"' }).waitFor()
  t.match(await one.locator('#curl').textContent(), `curl -X PUT ${url}/v1/states/other -H 'content-type`)
  t.strictSame(complaints, [], 'nothing is refused by the content security policy, nothing throws')
})

t.test('a server with a token asks for it', { skip: noBrowser }, async t => {
  const { url, api } = await listen(t, { env: { ADMIN_TOKEN: 'let+me/in' } })
  // Chromium reports the refused socket itself.
  const { newPage, complaints } = await openPage(t, url, /401|Authentication failed/)
  const page = await newPage()
  await page.goto(`${url}/live`)
  await page.getByText('This server wants a token').waitFor()
  const enter = async (token: string) => {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Connect' }).click()
  }
  await enter('wrong')
  await page.getByText('The server does not know this token').waitFor()
  await enter('let+me/in')
  await page.getByText('Live', { exact: true }).waitFor()
  t.notOk(await page.getByLabel('Token').isVisible())
  await api.as('let+me/in').put('/v1/states/demo', { value: 'arrived' })
  await page.locator('#value', { hasText: '"arrived"' }).waitFor()
  t.match(await page.locator('#curl').textContent(), 'Authorization: Bearer $ADMIN_TOKEN')
  t.notMatch(await page.content(), 'let+me/in', 'the token is not shown')
  t.strictSame(complaints, [])
})

t.test('EventSource comes back where it was', { skip: noBrowser }, async t => {
  const { url, api, app } = await listen(t)
  // Chromium reports the stream that was cut off.
  const { newPage, complaints } = await openPage(t, url, /ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET/)
  const page = await newPage()
  await page.goto(`${url}/live`)
  await api.put('/v1/states/es', { value: 'first' })
  await page.evaluate(() => {
    const seen: string[] = []
    Object.assign(globalThis, { seen })
    const source = new EventSource('/v1/states/es/events')
    for (const type of ['value', 'deleted']) {
      source.addEventListener(type, event => {
        const { lastEventId, data } = event as unknown as { lastEventId: string; data: string }
        seen.push(`${type} ${lastEventId} ${JSON.parse(data).value ?? ''}`)
      })
    }
  })
  const seen = () => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen)
  await until('the first value', async () => (await seen()).length === 1)
  app.server.closeAllConnections()
  await until('it is back', async () => (await api.get('/v1/states/es/subscriptions')).json().items.length === 1)
  await api.put('/v1/states/es', { value: 'second' })
  await until('the second value', async () => (await seen()).length === 2)
  app.server.closeAllConnections()
  await api.put('/v1/states/es', { value: 'while it was away' })
  await until('the third value', async () => (await seen()).length === 3)
  await api.delete('/v1/states/es')
  await until('the end', async () => (await seen()).length === 4)
  t.strictSame(await seen(), ['value 1 first', 'value 2 second', 'value 3 while it was away', 'deleted  '])
  t.strictSame(complaints, [])
})
