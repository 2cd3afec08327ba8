import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import type { Dispatch } from './dispatch.js'

/** What an AWS client takes as its `requestHandler`. */
export type ClientHandler = NonNullable<DynamoDBClientConfig['requestHandler']>

interface Request {
  headers: Record<string, string>
  body?: string | Uint8Array
}

/** Answers an AWS client in this process: no socket, no signature checked. */
export function clientHandler(dispatch: Dispatch): ClientHandler {
  const handler = {
    metadata: { handlerProtocol: 'in-process' },
    async handle({ headers, body }: Request, { abortSignal }: { abortSignal?: { aborted: boolean } } = {}) {
      if (abortSignal?.aborted) throw Object.assign(new Error('Request aborted'), { name: 'AbortError' })
      const answer = await dispatch(headers['x-amz-target'], body ?? '')
      const response = {
        statusCode: answer.status,
        headers: { 'content-type': 'application/x-amz-json-1.0' },
        body: Buffer.from(answer.body)
      }
      return { response }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
    destroy() {}
  }
  // The client's own type asks for its class of responses, of which it only looks at these three fields.
  return handler as unknown as ClientHandler
}
