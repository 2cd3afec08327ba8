import t from 'tap'
import { noBrowser, openPage } from './browser.js'
import { listen } from './live-helpers.js'

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
  const { url, api } = await listen(t, { env: { ADMIN_TOKEN: 'let+me/in' } })
  // Chromium reports the refused socket itself: that is how the page learns that it needs a token.
  const { newPage, complaints } = await openPage(t, url, /401|Authentication failed/)
  const open = async () => {
    const page = await newPage()
    await page.goto(`${url}/live?state=tabs`)
    await page.getByLabel('Token').fill('let+me/in')
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    return page
  }
  const [one, two] = [await open(), await open()]
  await one.getByRole('slider').fill('42')
  await two.locator('#value', { hasText: '42' }).waitFor()
  await two.getByLabel('Any JSON').fill('{"home": 2}')
  await two.getByRole('button', { name: 'Set' }).click()
  await one.locator('#value', { hasText: '{"home":2}' }).waitFor()
  await api.as('let+me/in').put('/v1/states/tabs', { value: 'from REST' })
  await one.locator('#value', { hasText: '"from REST"' }).waitFor()
  await two.locator('#log li', { hasText: 'version 3: "from REST"' }).waitFor()
  t.strictSame(complaints, [], 'nothing is refused by the content security policy, nothing throws')
})
