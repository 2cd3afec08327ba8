import t from 'tap'
import { toProblem } from '../src/dynamo/errors.js'

/** What DynamoDB refuses, in its own words, and what that is for a caller. */

const error = (name: string, message: string, CancellationReasons?: { Code: string; Message?: string }[]) =>
  Object.assign(new Error(message), { name, ...(CancellationReasons ? { CancellationReasons } : {}) })
const invalid = (message: string) => error('ValidationException', message)
const cancelled = (Code: string, Message?: string) =>
  error('TransactionCanceledException', 'Transaction cancelled', [{ Code: 'None' }, { Code, Message }])

const TOO_DEEP = 'Nesting Levels have exceeded supported limits'
const TOO_LARGE = 'Transaction payload size cannot exceed 4MB. Payload Size: '

const refusals: [Error, number, string][] = [
  [invalid('Item size has exceeded the maximum allowed size'), 413, 'item-too-large'],
  [invalid('Item size to update has exceeded the maximum allowed size'), 413, 'item-too-large'],
  [cancelled('ValidationError', 'Item size to update has exceeded the maximum allowed size'), 413, 'item-too-large'],
  [invalid(`${TOO_LARGE}4306456`), 413, 'transaction-too-large'],
  [invalid(`${TOO_LARGE}: ${TOO_LARGE}4306456`), 413, 'transaction-too-large'],
  [invalid('Payload in response is too large.4290122'), 413, 'transaction-too-large'],
  [invalid(TOO_DEEP), 400, 'nesting-too-deep'],
  [invalid(`${TOO_DEEP}: Attributes in the item have nested levels beyond supported limit`), 400, 'nesting-too-deep'],
  [cancelled('ValidationError', TOO_DEEP), 400, 'nesting-too-deep'],
  [cancelled('TransactionConflict'), 503, 'database-unavailable'],
  [cancelled('ThrottlingError'), 503, 'database-unavailable'],
  [error('ThrottlingException', 'Rate exceeded'), 503, 'database-unavailable']
]

t.test('what DynamoDB refuses is a problem that its caller can act on', async t => {
  for (const [refusal, status, code] of refusals) {
    t.match(toProblem(refusal), { status, code }, `${refusal.message} ${code}`)
  }
})

t.test('what services decide, and what is our own mistake, stays what it is', async t => {
  for (const own of [cancelled('ConditionalCheckFailed'), invalid('Invalid UpdateExpression: Syntax error')]) {
    t.equal(toProblem(own), own)
  }
})
