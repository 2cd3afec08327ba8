import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import fc from 'fast-check'
import t from 'tap'
import { createSigner } from '../src/dynamo/sigv4.js'

interface Official {
  sign(
    request: object,
    options: { signingDate: Date; signingRegion: string; signingService: string }
  ): Promise<{ headers: Record<string, string> }>
}
type OfficialClass = new (settings: object) => Official

const word = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'abcXYZ0189+/='), minLength: min, maxLength: max })

const requests = fc.record({
  credentials: fc.record(
    { accessKeyId: word(4, 20), secretAccessKey: word(4, 40), sessionToken: word(1, 400) },
    { requiredKeys: ['accessKeyId', 'secretAccessKey'] }
  ),
  host: fc.constantFrom(
    'dynamodb.eu-west-1.amazonaws.com',
    '127.0.0.1:8000',
    '123456789012.ddb.us-east-1.amazonaws.com'
  ),
  path: fc.oneof(
    fc.constant('/'),
    fc.webPath().map(path => new URL(`http://x/${path}`).pathname.replace(/\/*$/, '/'))
  ),
  region: fc.constantFrom('us-east-1', 'eu-west-1', 'us-gov-west-1'),
  target: fc.constantFrom('DynamoDB_20120810.GetItem', 'DynamoDB_20120810.TransactWriteItems'),
  body: fc.oneof(fc.json(), fc.string({ unit: 'binary', maxLength: 300 })),
  at: fc.integer({ min: 0, max: 4_102_444_800_000 })
})

t.test('a thousand requests are signed as the official signer signs them', async t => {
  const { config } = new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' }
  })
  const signer = (config as unknown as { signer: () => Promise<Official> }).signer
  const SignatureV4 = (await signer()).constructor as OfficialClass
  // One signer for all, so that a key kept too long would show.
  const sign = createSigner()
  let signed = 0
  await fc.assert(
    fc.asyncProperty(requests, async ({ credentials, host, path, region, target, body, at }) => {
      const place = { origin: `https://${host}`, host, path, region, service: 'dynamodb' }
      const list = sign(credentials, place, { target, body }, at)
      const ours = Object.fromEntries(list.flatMap((name, i) => (i % 2 ? [] : [[name, list[i + 1]]])))
      const official = new SignatureV4({
        credentials,
        region,
        service: 'dynamodb',
        sha256: config.sha256,
        applyChecksum: false
      })
      const { host: h, 'content-type': type, 'x-amz-target': named } = ours
      const headers = { host: h, 'content-type': type, 'x-amz-target': named }
      const request = { method: 'POST', protocol: 'https:', hostname: host, path, query: {}, headers, body }
      const options = { signingDate: new Date(at), signingRegion: region, signingService: 'dynamodb' }
      const theirs = (await official.sign(request, options)).headers
      signed += 1
      if (JSON.stringify(sorted(ours)) !== JSON.stringify(sorted(theirs))) {
        throw new Error(`${JSON.stringify(ours)} is not ${JSON.stringify(theirs)}`)
      }
    }),
    { numRuns: 1000, seed: 1 }
  )
  t.equal(signed, 1000)
})

const sorted = (headers: object) => Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1))

t.test('the key follows the day, the place and the credentials', async t => {
  const sign = createSigner()
  const place = { origin: 'http://h', host: 'h', path: '/', region: 'us-east-1', service: 'dynamodb' }
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' }
  const request = { target: 'T', body: '{}' }
  const noon = Date.UTC(2026, 10, 18, 12)
  const signature = (c = credentials, p = place, at = noon) => sign(c, p, request, at).at(-1)
  const first = signature()
  t.equal(signature(), first)
  t.not(signature({ ...credentials, secretAccessKey: 'c' }), first)
  t.not(signature(credentials, { ...place, region: 'us-east-2' }), first)
  t.not(signature(credentials, place, noon + 24 * 3600 * 1000), first)
  t.equal(signature(), first)
})
