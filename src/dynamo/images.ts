import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Attributes } from './values.js'

/** An image as JSON carries it, and as Lambda gives it: bytes are base64. */
export const imageToJson = (image: Attributes): Attributes => withBytes(image, bytes => toBase64(bytes) as never)

/** An image of JSON as the AWS client takes it. */
export const imageFromJson = (image: Attributes): Attributes =>
  withBytes(image, text => Buffer.from(text as unknown as string, 'base64'))

type Convert = (bytes: Uint8Array) => Uint8Array

function withBytes(image: Attributes, convert: Convert): Attributes {
  return Object.fromEntries(Object.entries(image).map(([name, value]) => [name, converted(value, convert)]))
}

function converted(value: AttributeValue, convert: Convert): AttributeValue {
  if (value.B !== undefined) return { B: convert(value.B) }
  if (value.BS !== undefined) return { BS: value.BS.map(convert) }
  if (value.L !== undefined) return { L: value.L.map(member => converted(member, convert)) }
  if (value.M !== undefined) return { M: withBytes(value.M, convert) }
  return value
}

/** Lambda has encoded them already. */
function toBase64(bytes: Uint8Array | string): string {
  return typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('base64')
}
