// The least that can be done: node:http, a signature by hand, a pool of undici, items taken apart by hand.
import { createHash, createHmac } from 'node:crypto'
import { Pool } from 'undici'
import { ALIASES, aliasKeys, presentAlias } from '../items.mjs'

export const host = 'node'

export async function open({ endpoint, region, credentials }, table) {
  const pool = new Pool(endpoint, { connections: 128, pipelining: 1 })
  const { host } = new URL(endpoint)
  const sha = text => createHash('sha256').update(text).digest('hex')
  const hmac = (key, text) => createHmac('sha256', key).update(text).digest()
  let day = ''
  let key

  async function send(operation, input) {
    const body = JSON.stringify(input)
    const target = `DynamoDB_20120810.${operation}`
    const date = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
    if (date.slice(0, 8) !== day) {
      day = date.slice(0, 8)
      key = hmac(hmac(hmac(hmac(`AWS4${credentials.secretAccessKey}`, day), region), 'dynamodb'), 'aws4_request')
    }
    const scope = `${day}/${region}/dynamodb/aws4_request`
    const names = 'host;x-amz-date;x-amz-target'
    const canonical = `POST\n/\n\nhost:${host}\nx-amz-date:${date}\nx-amz-target:${target}\n\n${names}\n${sha(body)}`
    const signature = createHmac('sha256', key)
      .update(`AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha(canonical)}`)
      .digest('hex')
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-date': date,
      'x-amz-target': target,
      authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
    }
    const res = await pool.request({ path: '/', method: 'POST', headers, body })
    const text = await res.body.text()
    if (res.statusCode !== 200) throw new Error(text)
    return JSON.parse(text)
  }

  const keyOf = name => ({ pk: { S: `PROJECT#${name}` }, sk: { S: 'METADATA' } })
  const get = async name => {
    const { Item } = await send('GetItem', { TableName: table, Key: keyOf(name) })
    return { name, repository: Item.repository.S }
  }
  return {
    get,
    async list(name) {
      const query = send('Query', {
        TableName: table,
        KeyConditionExpression: 'pk = :p AND begins_with(sk, :s)',
        ExpressionAttributeValues: { ':p': { S: `PROJECT#${name}` }, ':s': { S: 'TOKEN#' } },
        Limit: 20
      })
      const [{ Items }] = await Promise.all([query, get(name)])
      const items = Items.map(i => ({ tokenId: i.sk.S.slice(6), createdAt: i.created_at.S, expiresAt: i.expires_at.S }))
      return { items }
    },
    async resolve() {
      const { Responses } = await send('BatchGetItem', { RequestItems: { [ALIASES]: { Keys: aliasKeys } } })
      return presentAlias(Responses[ALIASES][0])
    },
    create: ({ name, repository }) =>
      send('PutItem', {
        TableName: table,
        Item: { ...keyOf(name), repository: { S: repository } },
        ConditionExpression: 'attribute_not_exists(pk)'
      }),
    transaction: ({ project, tokenId, createdAt, expiresAt, hashedToken }) =>
      send('TransactWriteItems', {
        TransactItems: [
          {
            ConditionCheck: {
              TableName: table,
              Key: keyOf(project),
              ConditionExpression: 'attribute_exists(pk)'
            }
          },
          {
            Put: {
              TableName: table,
              ConditionExpression: 'attribute_not_exists(pk)',
              Item: {
                pk: { S: `PROJECT#${project}` },
                sk: { S: `TOKEN#${tokenId}` },
                created_at: { S: createdAt },
                expires_at: { S: expiresAt },
                hashed_token: { S: hashedToken }
              }
            }
          }
        ]
      })
  }
}
