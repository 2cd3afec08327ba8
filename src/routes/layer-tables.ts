import type { presentLayer } from '../services/layer-values.js'

/** Layers as a table: CSV for spreadsheets, HTML for people. */

type Layer = ReturnType<typeof presentLayer>

const COLUMNS = [
  'region',
  'package',
  'version',
  'packageVersion',
  'status',
  'arn',
  'createdAt',
  'expiresAt',
  'requirementsHash',
  'requirementsTxt'
] as const satisfies (keyof Layer)[]

/** RFC 4180. */
export function toCsv(layers: Layer[]): string {
  const rows = layers.map(layer => COLUMNS.map(name => csvCell(layer[name])))
  return [COLUMNS, ...rows].map(row => `${row.join(',')}\r\n`).join('')
}

/** What a spreadsheet would run as a formula gets an apostrophe, which makes it text; numbers are ours and safe. */
function csvCell(value: string | number | undefined): string {
  if (typeof value === 'number') return String(value)
  const text = value ?? ''
  const safe = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(text) ? `'${text}` : text
  return /[",;\t\r\n]|^'|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escapeHtml = (text: unknown) => String(text ?? '').replace(/[&<>"']/g, character => ENTITIES[character] as string)

const STYLE = `
  :root { color-scheme: light dark; --line: #8884; --soft: #8881; }
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 96rem; padding: 0 1rem; }
  h1 { font-size: 1.4rem; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; width: 100%; }
  th, td { border-bottom: 1px solid var(--line); padding: .45rem .75rem; text-align: left; vertical-align: baseline; }
  th { border-bottom-width: 2px; font-weight: 600; vertical-align: bottom; }
  tbody tr:hover { background: var(--soft); }
  .number { text-align: right; font-variant-numeric: tabular-nums; }
  td, code { white-space: nowrap; }
  code, pre { font: .85em/1.4 ui-monospace, monospace; }
  pre { margin: .25rem 0 0; max-height: 20rem; max-width: 24rem; overflow: auto; }
  .status { border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .6rem; }
  .status.latest { border-color: #2a84; background: #2a82; }
  summary { cursor: pointer; }`

const COLUMN_HEADS = [
  '<th>Package</th>',
  '<th>Package version</th>',
  '<th class="number">Layer version</th>',
  '<th>Status</th>',
  '<th>ARN</th>',
  '<th>Published (UTC)</th>',
  '<th>Expires (UTC)</th>',
  '<th>Requirements</th>'
]

/** A page that needs nothing but itself. */
export function toHtml(region: string, layers: Layer[], next: string | undefined): string {
  const title = `Layers in ${escapeHtml(region)}`
  const table = `<div class="scroll"><table>
<thead><tr>${COLUMN_HEADS.join('')}</tr></thead>
<tbody>
${layers.map(htmlRow).join('\n')}
</tbody>
</table></div>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${STYLE}
</style>
</head>
<body>
<h1>${title}</h1>
${layers.length ? table : '<p>There are none here.</p>'}
${next === undefined ? '' : `<p><a rel="next" href="${escapeHtml(next)}">Next page</a></p>`}
</body>
</html>
`
}

/** Where an ARN may go on in another line: after the account. */
const breakable = (arn: string) => arn.replace(':layer:', ':<wbr>layer:')

function htmlRow(layer: Layer): string {
  const time = (value?: string) =>
    value ? `<time datetime="${escapeHtml(value)}">${escapeHtml(value.slice(0, 16).replace('T', ' '))}</time>` : ''
  const cells = [
    `<td>${escapeHtml(layer.package)}</td>`,
    `<td>${escapeHtml(layer.packageVersion)}</td>`,
    `<td class="number">${escapeHtml(layer.version)}</td>`,
    `<td><span class="status ${layer.status === 'latest' ? 'latest' : ''}">${escapeHtml(layer.status)}</span></td>`,
    `<td><code>${breakable(escapeHtml(layer.arn))}</code></td>`,
    `<td>${time(layer.createdAt)}</td>`,
    `<td>${time(layer.expiresAt)}</td>`,
    `<td><details><summary><code>${escapeHtml(layer.requirementsHash?.slice(0, 12) ?? 'text')}</code></summary><pre>${escapeHtml(layer.requirementsTxt)}</pre></details></td>`
  ]
  return `<tr>${cells.join('')}</tr>`
}
