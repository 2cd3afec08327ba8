import t from 'tap'
import { noBrowser, openPage } from './browser.js'
import { start } from './helpers.js'

t.test('Swagger UI works in a browser, under the CSP and offline', { skip: noBrowser }, async t => {
  const { app } = await start(t, { env: { ADMIN_TOKEN: 'secret' } })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const { newPage, complaints } = await openPage(t, origin)
  const page = await newPage()
  await page.goto(`${origin}/docs`, { waitUntil: 'networkidle' })
  await page.click('button.authorize')
  await page.fill('.auth-container input', 'secret')
  await page.click('.auth-btn-wrapper button.authorize')
  await page.click('.btn-done')
  const tries = {
    'projects-createProject': '201',
    'projects-putTarget': '201',
    'realtime-setState': '201',
    'layers-insertLayer': '201',
    'hosting-createDeployment': '201',
    'tenants-getQueue': '202'
  }
  for (const [name, expected] of Object.entries(tries)) {
    const operation = `#operations-${name}`
    await page.click(`${operation} .opblock-summary-control`)
    await page.click(`${operation} button.execute`)
    const status = page.locator(`${operation} .live-responses-table tbody .response-col_status`).first()
    t.match(await status.textContent(), expected, `${name}: the example can be sent as it is`)
  }
  t.strictSame(complaints, [])
})
