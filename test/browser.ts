import { existsSync } from 'node:fs'
import { chromium, type Page } from 'playwright-core'
import type { Test } from './helpers.js'

const CHROMIUM = '/usr/bin/chromium'
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']

/** Why a browser test cannot run here, or false. */
export const noBrowser = existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`

/** A page in a real browser that collects what it asks of other hosts, and its errors. */
export async function openPage(t: Test, origin: string) {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', ...QUIET]
  })
  t.teardown(() => browser.close())
  const complaints: string[] = []
  const watch = (page: Page) => {
    page.on('request', request => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) complaints.push(request.url())
    })
    page.on('console', message => void (message.type() === 'error' && complaints.push(message.text())))
    page.on('pageerror', error => void complaints.push(String(error)))
    return page
  }
  const context = await browser.newContext()
  return { newPage: async () => watch(await context.newPage()), complaints }
}
