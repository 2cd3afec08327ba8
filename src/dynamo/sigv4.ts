import { createHmac, hash } from 'node:crypto'

/** AWS Signature Version 4 for DynamoDB's one kind of request: a POST of JSON that names its operation in a header. */

export interface Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

/** Where requests go, and for what they are signed. */
export interface Place {
  origin: string
  host: string
  path: string
  region: string
  service: string
}

export interface Unsigned {
  target: string
  body: string
}

/** Gives a request's headers, signature included, as a flat list of names and values. */
export type Signer = (credentials: Credentials, place: Place, request: Unsigned, at: number) => string[]

const TYPE = 'application/x-amz-json-1.0'

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** A signer that makes a key once for each day, place and credentials, and a date once a second. */
export function createSigner(): Signer {
  const dateOf = secondsAsText()
  const keyOf = dailyKey()

  return (credentials, place, { target, body }, at) => {
    const { sessionToken } = credentials
    const date = dateOf(at)
    const { key, scope } = keyOf(credentials, place, date.slice(0, 8))
    const names = `content-type;host;x-amz-date;${sessionToken ? 'x-amz-security-token;' : ''}x-amz-target`
    const canonical =
      `POST\n${canonicalPath(place.path)}\n\ncontent-type:${TYPE}\nhost:${place.host}\nx-amz-date:${date}\n` +
      `${sessionToken ? `x-amz-security-token:${sessionToken}\n` : ''}x-amz-target:${target}\n\n` +
      `${names}\n${hash('sha256', body)}`
    const signature = createHmac('sha256', key)
      .update(`AWS4-HMAC-SHA256\n${date}\n${scope}\n${hash('sha256', canonical)}`)
      .digest('hex')
    const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
    const headers = ['host', place.host, 'content-type', TYPE, 'x-amz-date', date, 'x-amz-target', target]
    if (sessionToken) headers.push('x-amz-security-token', sessionToken)
    headers.push('authorization', authorization)
    return headers
  }
}

/** `20261118T090000Z`, made anew when the second changes. */
function secondsAsText(): (at: number) => string {
  let second = Number.NaN
  let text = ''
  return at => {
    const now = Math.floor(at / 1000)
    if (now !== second) {
      second = now
      text = `${new Date(now * 1000).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
    }
    return text
  }
}

function dailyKey() {
  let known = { secret: '', scope: '', key: Buffer.alloc(0) }
  return ({ secretAccessKey: secret }: Credentials, { region, service }: Place, day: string) => {
    const scope = `${day}/${region}/${service}/aws4_request`
    if (known.scope !== scope || known.secret !== secret) {
      const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), service), 'aws4_request')
      known = { secret, scope, key }
    }
    return known
  }
}

/** The path is encoded once more than it is sent, and without empty segments. */
function canonicalPath(path: string): string {
  if (path === '/') return path
  const segments = path.split('/').filter(Boolean).map(encodeSegment)
  return `/${segments.join('/')}${path.endsWith('/') && segments.length ? '/' : ''}`
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
