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
  const operation = '#operations-projects-createProject'
  await page.click(`${operation} .opblock-summary-control`)
  await page.click(`${operation} button.execute`)
  const status = page.locator(`${operation} .live-responses-table tbody .response-col_status`).first()
  t.match(await status.textContent(), '201', 'the example can be sent as it is')
  t.strictSame(complaints, [])
})
