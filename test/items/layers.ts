import { createHash } from 'node:crypto'
import type { Started } from '../helpers.js'
import { type ItemCase, NOW, NOW_ISO } from './case.js'

const text = 'numpy==1.21.1\n'
const hash = createHash('sha256').update(text).digest('hex')
const arn = (version: number) => `arn:aws:lambda:us-east-1:770693421928:layer:Klayers-p38-numpy:${version}`
const pk = 'lyr#us-east-1.numpy'
const content = {
  pckgVrsn: '1.21.1',
  requirementsTxt: text,
  requirementsHsh: hash,
  crtdDt: '2021-08-01T02:03:04.567890'
}
const common = { rgn: 'us-east-1', pckg: 'numpy', ...content }
const exDt = NOW / 1000 + 86_400

const latestRow = { pk, sk: 'lyrVrsn#v10', ...common, lyrVrsn: 10, arn: arn(10), dplySts: 'latest' }
const oldRow = { pk, sk: 'lyrVrsn#v9', ...common, lyrVrsn: 9, arn: arn(9), dplySts: 'deprecated', exDt }
const goneRow = { pk, sk: 'lyrVrsn#v8', ...common, lyrVrsn: 8, arn: arn(8), deleted_date: '2021-09-01T00:00:00' }
const pointer = { pk, sk: 'lyrVrsn0#', ...common, lyrVrsn: 10, arn: arn(10) }
/** A package with a dot, whose row holds region, package and version in its key alone. */
const bareRow = { pk: 'lyr#us-east-1.zope.interface', sk: 'lyrVrsn#v1', ...content, arn: arn(1) }
const document = [latestRow, oldRow, goneRow, pointer, bareRow]

const shown = {
  packageVersion: '1.21.1',
  requirementsTxt: text,
  requirementsHash: hash,
  createdAt: content.crtdDt
}
const layer = { region: 'us-east-1', package: 'numpy', ...shown }
const latest = { ...layer, version: 10, arn: arn(10), status: 'latest' }
const old = {
  ...layer,
  version: 9,
  arn: arn(9),
  status: 'deprecated',
  expiresAt: new Date(exDt * 1000).toISOString()
}
const gone = { ...layer, version: 8, arn: arn(8), status: 'deleted', deletedAt: goneRow.deleted_date }
const list = (...items: object[]) => ({ items, cursor: null })

const newLayer = {
  region: 'us-east-1',
  package: 'numpy',
  packageVersion: '1.21.1',
  arn: arn(1),
  requirementsTxt: text
}
const stored = { ...common, crtdDt: NOW_ISO, pk, arn: arn(1) }
const year = NOW / 1000 + 365 * 86_400
const publish = ({ api }: Started) => api.post('/v1/layers', newLayer)
const publishTwice = async (started: Started) => {
  await publish(started)
  await publish(started)
}

const buildRow = { pk: 'bld#v2', sk: 'pckg#numpy', pckg: 'numpy', bltVrsn: 2, ...content }
const buildPointer = { ...buildRow, pk: 'bldVrsn0#' }
const build = { package: 'numpy', version: 2, ...shown }
const newBuild = { package: 'numpy', packageVersion: '1.21.1', requirementsTxt: text }
const storedBuild = { pckg: 'numpy', bltVrsn: 1, ...content, crtdDt: NOW_ISO, sk: 'pckg#numpy' }

export const layerItems: ItemCase[] = [
  {
    entity: 'Layer',
    domain: 'layers',
    table: 'layers',
    document,
    reads: [
      { url: '/v1/layers/us-east-1/numpy/10', answer: latest },
      { url: '/v1/layers/us-east-1/numpy/9', answer: old },
      { url: '/v1/layers/us-east-1/numpy/8', answer: gone },
      {
        url: '/v1/layers/us-east-1/zope.interface/1',
        answer: { ...layer, package: 'zope.interface', version: 1, arn: arn(1), status: 'deleted' }
      },
      { url: '/v1/packages/numpy/layers', answer: list(latest) },
      { url: '/v1/regions/us-east-1/layers', answer: list(old, latest) }
    ],
    writes: [
      {
        method: 'POST',
        url: '/v1/layers',
        body: newLayer,
        key: [pk, 'lyrVrsn#v1'],
        item: { ...stored, sk: 'lyrVrsn#v1', lyrVrsn: 1, dplySts: 'latest' }
      },
      {
        prepare: publish,
        method: 'POST',
        url: '/v1/layers',
        body: newLayer,
        key: [pk, 'lyrVrsn#v1'],
        item: { ...stored, sk: 'lyrVrsn#v1', lyrVrsn: 1, dplySts: 'deprecated', exDt: year }
      },
      {
        prepare: publishTwice,
        method: 'DELETE',
        url: '/v1/layers/us-east-1/numpy/1',
        key: [pk, 'lyrVrsn#v1'],
        item: { ...stored, sk: 'lyrVrsn#v1', lyrVrsn: 1, deleted_date: NOW_ISO }
      },
      {
        prepare: publishTwice,
        method: 'PUT',
        url: '/v1/layers/us-east-1/numpy/channels/lts',
        body: { version: 1 },
        key: [pk, 'lyrVrsn#v1'],
        item: { ...stored, sk: 'lyrVrsn#v1', lyrVrsn: 1, dplySts: 'deprecated', chnls: new Set(['lts']) }
      },
      {
        prepare: publishTwice,
        method: 'PATCH',
        url: '/v1/layers/us-east-1/numpy/1',
        body: { expiresAt: null },
        key: [pk, 'lyrVrsn#v1'],
        item: { ...stored, sk: 'lyrVrsn#v1', lyrVrsn: 1, dplySts: 'deprecated', kept: true }
      }
    ],
    update: { method: 'POST', url: '/v1/layers', body: newLayer }
  },
  {
    entity: 'LatestLayer',
    domain: 'layers',
    table: 'layers',
    document: [pointer, latestRow, oldRow, goneRow],
    reads: [
      { url: '/v1/layers/us-east-1/numpy/latest', answer: latest },
      { url: '/v1/layers/us-east-1/numpy', answer: list(latest, old, gone) }
    ],
    writes: [
      {
        prepare: publish,
        method: 'POST',
        url: '/v1/layers',
        body: newLayer,
        key: [pk, 'lyrVrsn0#'],
        item: { ...stored, sk: 'lyrVrsn0#', lyrVrsn: 2 }
      },
      {
        prepare: publish,
        method: 'DELETE',
        url: '/v1/layers/us-east-1/numpy/1?withdraw=true',
        key: [pk, 'lyrVrsn0#'],
        item: { pk, sk: 'lyrVrsn0#', rgn: 'us-east-1', pckg: 'numpy', lyrVrsn: 1, deleted_date: NOW_ISO }
      }
    ],
    update: { method: 'POST', url: '/v1/layers', body: newLayer }
  },
  {
    entity: 'Channel',
    domain: 'layers',
    table: 'layers',
    document: [{ pk, sk: 'chnl#lts', lyrVrsn: 9, uptdDt: NOW_ISO, rgn: 'us-east-1', pckg: 'numpy' }, latestRow],
    reads: [
      {
        url: '/v1/layers/us-east-1/numpy/channels/lts',
        answer: { name: 'lts', region: 'us-east-1', package: 'numpy', version: 9, updatedAt: NOW_ISO }
      }
    ],
    writes: [
      {
        prepare: publish,
        method: 'PUT',
        url: '/v1/layers/us-east-1/numpy/channels/1.x',
        body: { version: 1 },
        key: [pk, 'chnl#1.x'],
        item: { pk, sk: 'chnl#1.x', rgn: 'us-east-1', pckg: 'numpy', chnl: '1.x', lyrVrsn: 1, uptdDt: NOW_ISO }
      }
    ],
    update: { method: 'PUT', url: '/v1/layers/us-east-1/numpy/channels/lts', body: { version: 10 } }
  },
  {
    entity: 'Build',
    domain: 'layers',
    table: 'layers',
    document: [buildRow],
    reads: [{ url: '/v1/builds/numpy/2', answer: build }],
    writes: [
      {
        method: 'POST',
        url: '/v1/builds',
        body: newBuild,
        key: ['bld#v1', 'pckg#numpy'],
        item: { ...storedBuild, pk: 'bld#v1' }
      }
    ]
  },
  {
    entity: 'LatestBuild',
    domain: 'layers',
    table: 'layers',
    document: [buildPointer, latestRow],
    reads: [
      { url: '/v1/builds/numpy', answer: build },
      { url: '/v1/builds', answer: list(build) },
      {
        url: '/v1/packages/numpy/drift',
        answer: list({ region: 'us-east-1', version: 10, deployedHash: hash, latestHash: hash, current: true })
      }
    ],
    writes: [
      {
        method: 'POST',
        url: '/v1/builds',
        body: newBuild,
        key: ['bldVrsn0#', 'pckg#numpy'],
        item: { ...storedBuild, pk: 'bldVrsn0#' }
      }
    ],
    update: { method: 'POST', url: '/v1/builds', body: newBuild }
  }
]
