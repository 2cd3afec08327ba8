import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import t from 'tap'
import { listen } from './live-helpers.js'

const CHROMIUM = '/usr/bin/chromium'
const skip = existsSync(CHROMIUM) ? false : 'chromium is not installed (Debian: apt-get install chromium)'
const args = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync']
]

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

t.test('two tabs see a value move', { skip }, async t => {
  const { url, api } = await listen(t, { env: { ADMIN_TOKEN: 'let+me/in' } })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args, timeout: 60_000 })
  t.teardown(() => browser.close())
  const complaints: string[] = []
  const open = async () => {
    const page = await browser.newPage({ viewport: { width: 900, height: 700 } })
    page.setDefaultTimeout(60_000)
    page.on('pageerror', error => complaints.push(error.message))
    page.on('console', message => {
      // Chromium reports the refused socket itself: that is how the page learns that it needs a token.
      if (message.type() === 'error' && !/401|Authentication failed/.test(message.text()))
        complaints.push(message.text())
    })
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
  if (process.env.SCREENSHOT) await two.screenshot({ path: process.env.SCREENSHOT })
  t.strictSame(complaints, [], 'nothing is refused by the content security policy, nothing throws')
})
