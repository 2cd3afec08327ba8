import { createHash } from 'node:crypto'
import type { Started } from './helpers.js'

export const REGION = 'eu-west-1'
export const arn = (version: number, name = 'requests', region = REGION) =>
  `arn:aws:lambda:${region}:123456789012:layer:${name}:${version}`
export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A layer to publish; the number in its ARN is Lambda's, not the registry's. */
export const layerBody = (more: Record<string, unknown> = {}) => ({
  region: REGION,
  package: 'requests',
  packageVersion: '2.32.3',
  arn: arn(1, 'requests', (more.region as string) ?? REGION),
  requirementsTxt: 'requests==2.32.3\n',
  ...more
})
export const buildBody = (more: Record<string, unknown> = {}) => ({
  package: 'requests',
  packageVersion: '2.32.3',
  requirementsTxt: 'requests==2.32.3\n',
  ...more
})

/** Publishes a number of versions of a package. */
export async function publish({ api }: Pick<Started, 'api'>, count: number, more: Record<string, unknown> = {}) {
  for (let i = 0; i < count; i++) {
    const response = await api.post('/v1/layers', layerBody(more))
    if (response.statusCode !== 201) throw new Error(`${response.statusCode} ${response.body}`)
  }
}

export const at = (path: string) => `/v1/layers/${REGION}/requests${path}`
