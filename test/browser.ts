import { existsSync } from 'node:fs'
import { chromium, type Page } from 'playwright-core'
import type { Test } from './helpers.js'

const CHROMIUM = '/usr/bin/chromium'
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']

/** Why a browser test cannot run here, or need not, or false. */
export const noBrowser = process.env.TEST_DYNAMODB
  ? 'what the page asks for, other tests ask for'
  : existsSync(CHROMIUM)
    ? false
    : `${CHROMIUM} is not installed`

/** Pages in a real browser, with what they ask of other hosts and their errors, but for the expected ones. */
export async function openPage(t: Test, origin: string, expected?: RegExp) {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    timeout: 60_000,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', ...QUIET]
  })
  t.teardown(() => browser.close())
  const complaints: string[] = []
  const watch = (page: Page) => {
    page.setDefaultTimeout(60_000)
    page.on('request', request => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) complaints.push(request.url())
    })
    page.on('console', message => {
      if (message.type() === 'error' && !expected?.test(message.text())) complaints.push(message.text())
    })
    page.on('pageerror', error => void complaints.push(String(error)))
    return page
  }
  const context = await browser.newContext()
  return { newPage: async () => watch(await context.newPage()), complaints }
}
