import t from 'tap'
import { Problem } from '../src/problems.js'
import { toCsv, toHtml } from '../src/routes/layer-tables.js'
import { negotiate } from '../src/routes/negotiate.js'
import { noBrowser, openPage } from './browser.js'
import { start } from './helpers.js'
import { publish } from './layers-helpers.js'

const URL = '/v1/regions/eu-west-1/layers'
const layer = (more: object) => ({
  region: 'eu-west-1',
  package: 'requests',
  version: 1,
  arn: undefined,
  packageVersion: '1',
  requirementsTxt: '',
  requirementsHash: undefined,
  createdAt: undefined,
  status: 'latest' as const,
  expiresAt: undefined,
  deletedAt: undefined,
  channels: undefined,
  ...more
})

/** A reader of RFC 4180, apart from the writer. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy
  for (let match = cells.exec(text); match; match = cells.exec(text)) {
    rows.at(-1)?.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (match[3] === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

t.test('texts with commas, quotes and line breaks survive CSV', async t => {
  const texts = ['plain', 'a,b', 'say "hi"', 'one\ntwo\r\nthree', '""', ',', 'é 日本 🎈', ' padded ', '"', '']
  const csv = toCsv(texts.map(text => layer({ requirementsTxt: text })))
  t.ok(csv.endsWith('\r\n'))
  const [head, ...rows] = parseCsv(csv)
  t.strictSame(head?.slice(0, 4), ['region', 'package', 'version', 'packageVersion'])
  t.strictSame(
    rows.map(row => row.at(-1)),
    texts
  )
  t.ok(rows.every(row => row.length === head?.length))
})

t.test('no cell is a formula', async t => {
  const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', ' =1', '＝1', '=HYPERLINK("http://x","y")']
  const rows = parseCsv(toCsv(formulas.map(text => layer({ requirementsTxt: text })))).slice(1)
  t.strictSame(
    rows.map(row => row.at(-1)),
    formulas.map(text => `'${text}`)
  )
  const [, row] = parseCsv(toCsv([layer({ packageVersion: '=cmd', version: 7 })]))
  t.strictSame(row?.slice(2, 4), ['7', "'=cmd"])
  t.strictSame(parseCsv(toCsv([layer({ requirementsTxt: 'a=1' })]))[1]?.at(-1), 'a=1', 'what is none stays as it is')
})

t.test('what a spreadsheet may also take for the end of a cell is quoted', async t => {
  for (const text of ['a;=1+1', 'a\t=1+1']) {
    t.match(toCsv([layer({ requirementsTxt: text })]), `,"${text}"\r\n`, JSON.stringify(text))
  }
})

t.test('HTML is escaped', async t => {
  const evil = `<script>alert("x")</script>&'`
  const html = toHtml(
    'eu-west-1',
    [layer({ requirementsTxt: evil, packageVersion: evil, arn: evil, createdAt: evil })],
    '/v1?a=1&cursor="x'
  )
  t.notMatch(html, '<script')
  t.match(html, '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;')
  t.match(html, 'href="/v1?a=1&amp;cursor=&quot;x"')
  t.notMatch(html, /\son\w+=/i)
  t.match(toHtml('eu-west-1', [], undefined), 'There are none here')
})

t.test('Accept chooses the form', async t => {
  const started = await start(t, { domains: ['layers'] })
  const { api, counted } = started
  await publish(started, 3, { requirementsTxt: '=a,"b"\n' })
  const csv = await counted(() => api.get(`${URL}?limit=2`, { accept: 'text/csv' }))
  t.strictSame(csv.requests, ['Query'])
  t.equal(csv.result.headers['content-type'], 'text/csv; charset=utf-8')
  t.match(csv.result.headers.link, /^<\/v1\/regions\/eu-west-1\/layers\?limit=2&cursor=[^>]+>; rel="next"$/)
  const rows = parseCsv(csv.result.body)
  t.equal(rows.length, 3)
  t.equal(rows[1]?.at(-1), `'=a,"b"\n`)
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8'
  const html = await api.get(`${URL}?limit=2`, { accept: browser })
  t.equal(html.headers['content-type'], 'text/html; charset=utf-8')
  t.equal(html.headers.vary, 'accept')
  t.match(html.headers['content-security-policy'], /style-src 'self' 'unsafe-inline'/)
  const [, next] = /rel="next" href="([^"]+)"/.exec(html.body) ?? []
  const second = await api.get(next?.replaceAll('&amp;', '&') ?? '', { accept: 'text/html' })
  t.equal(second.body.match(/<tr>/g)?.length, 2, 'a head and the third layer')
  for (const accept of [undefined, '*/*', 'application/json', 'application/*', 'text/html;q=0.1, application/json']) {
    const json = await api.get(URL, accept === undefined ? {} : { accept })
    t.match(json.headers['content-type'], /^application\/json/, String(accept))
    t.equal(json.json().items.length, 3)
  }
  const refused = await api.get(URL, { accept: 'image/png' })
  t.match(refused.json(), { status: 406, code: 'not-acceptable' })
})

t.test('caches are told of Accept, and still of Origin', async t => {
  const { api } = await start(t, { domains: ['layers'], env: { CORS_ORIGIN: 'https://a.example,https://b.example' } })
  for (const accept of ['text/csv', 'application/json', 'image/png']) {
    const { headers } = await api.get(URL, { accept, origin: 'https://b.example' })
    t.strictSame(String(headers.vary).toLowerCase().split(', ').sort(), ['accept', 'origin'], accept)
  }
})

t.test('in a browser it is a table, whatever the texts hold', { skip: noBrowser }, async t => {
  const started = await start(t, { domains: ['layers'] })
  const evil = '<script>document.title = "evil"</script><img src=x onerror="document.title = 1">'
  await publish(started, 1, { requirementsTxt: evil, packageVersion: '<b>1</b>' })
  await publish(started, 2, { package: 'numpy' })
  const origin = await started.app.listen({ port: 0 })
  const { newPage, complaints } = await openPage(t, origin)
  const page = await newPage()
  await page.goto(`${origin}${URL}?limit=2`)
  t.equal(await page.title(), 'Layers in eu-west-1')
  t.equal(await page.locator('tbody tr').count(), 2)
  await page.getByRole('link', { name: 'Next page' }).click()
  await page.waitForURL(/cursor=/)
  t.equal(await page.locator('tbody tr').count(), 1)
  await page.goto(`${origin}${URL}`)
  const row = page.locator('tr', { has: page.getByRole('cell', { name: 'requests', exact: true }) })
  t.equal(await row.locator('td').nth(1).textContent(), '<b>1</b>')
  await row.locator('summary').click()
  t.equal(await row.locator('pre').innerText(), evil)
  t.equal(await row.locator('code').first().innerText(), 'arn:aws:lambda:eu-west-1:123456789012:layer:requests:1')
  t.equal(await page.title(), 'Layers in eu-west-1')
  t.strictSame(complaints, [], 'it asks for nothing, and nothing in it fails')
})

t.test('the most specific range decides, then the quality', async t => {
  const offers = ['application/json', 'text/csv', 'text/html'] as const
  const cases: [string | undefined, string][] = [
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['text/*', 'text/csv'],
    ['text/csv;q=0.5, text/html;q=0.7', 'text/html'],
    ['*/*;q=0.1, text/csv;q=0', 'application/json'],
    ['application/json;q=0, */*', 'text/csv'],
    ['TEXT/HTML; charset=utf-8; Q=1', 'text/html'],
    ['text/csv;q=nonsense, text/html', 'text/html']
  ]
  for (const [accept, wanted] of cases) t.equal(negotiate(accept, offers), wanted, String(accept))
  t.throws(
    () => negotiate('image/*, text/html;q=0', offers),
    new Problem('not-acceptable', 'This is to be had as application/json, text/csv, text/html')
  )
})
