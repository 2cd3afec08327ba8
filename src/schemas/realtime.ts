import Type from 'typebox'
import { component, identifier, PageQuery, pageOf, strict, Timestamp } from './common.js'

/** The part of an email on either side of its @. */
const PART = '[^#@\\s\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]+'

const StateName = identifier('The name of a state; a `/` in it is sent as `%2F`.', ['lobby/score'])
const ConnectionId = identifier('The id of a connection.', ['conn-1234'])
/** A user id and an email share a prefix in the index, so that only one of them may hold an @. */
const UserId = Type.String({
  description: 'The id of a user: no `#`, no `@`.',
  pattern: '^[^#@\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]+$',
  minLength: 1,
  maxLength: 256,
  examples: ['ann']
})
const Email = Type.String({
  description: 'An email address. It is compared as it is written, upper and lower case apart.',
  pattern: `^${PART}@${PART}$`,
  maxLength: 320,
  examples: ['ann@example.com']
})
const Ttl = Type.Integer({
  minimum: 1,
  maximum: 99_999_999_999,
  description: 'When it is gone, in epoch seconds; it must lie in the future. Without it, it stays.',
  examples: [4102444800]
})
const Value = Type.Unknown({
  description: 'Any JSON that DynamoDB stores: up to 400 KB and 32 levels.',
  examples: [{ home: 2, away: 1 }]
})
/** Others may have stored any number. */
const StoredTtl = Type.Integer({ description: 'When it is gone, in epoch seconds.', examples: [4102444800] })
const Seconds = (description: string) => Type.Integer({ description, examples: [1643245799] })

export const StateParams = Type.Object({ name: StateName })
export const SubscriptionParams = Type.Object({ name: StateName, connectionId: ConnectionId })
export const ConnectionParams = Type.Object({ connectionId: ConnectionId })
export const UserParams = Type.Object({ userId: UserId })
export const UnsubscribeQuery = strict({
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, description: 'Why; kept with the subscription.' }))
})
export const EmailQuery = strict({ email: Email, ...PageQuery })

export const State = component(
  'State',
  Type.Object(
    {
      name: Type.String({ examples: ['lobby/score'] }),
      value: Value,
      version: Type.Integer({ description: 'How often it was written; 0 if others wrote it.', examples: [7] }),
      updatedAt: Type.Optional(Timestamp('When it was written.')),
      ttl: Type.Optional(StoredTtl)
    },
    { description: 'A value that is shared.' }
  )
)
export const StateContent = component('StateContent', strict({ value: Value, ttl: Type.Optional(Ttl) }))

export const Subscription = component(
  'Subscription',
  Type.Object(
    {
      stateName: Type.String({ examples: ['lobby/score'] }),
      connectionId: Type.String({ examples: ['conn-1234'] }),
      status: Type.String({ description: '`subscribed` or `unsubscribed`.', examples: ['subscribed'] }),
      subscribedAt: Type.Optional(Seconds('When it began, in epoch seconds.')),
      unsubscribedAt: Type.Optional(Seconds('When it ended, in epoch seconds.')),
      reason: Type.Optional(Type.String({ description: 'Why it ended.' })),
      ttl: Type.Optional(StoredTtl)
    },
    { description: 'A connection that hears of a state.' }
  )
)
export const SubscriptionPage = pageOf('SubscriptionPage', Subscription)
export const SubscriptionContent = component(
  'SubscriptionContent',
  strict({ ttl: Type.Optional(Ttl) }, { description: 'May be left out.', examples: [{}] })
)

export const Connection = component(
  'Connection',
  Type.Object(
    {
      connectionId: Type.String({ examples: ['conn-1234'] }),
      userId: Type.String({ examples: ['ann'] }),
      connectedAt: Type.Optional(Timestamp('When it was made.')),
      ttl: Type.Optional(StoredTtl)
    },
    { description: 'A client that is connected.' }
  )
)
export const ConnectionPage = pageOf('ConnectionPage', Connection)
export const ConnectionContent = component('ConnectionContent', strict({ userId: UserId, ttl: Type.Optional(Ttl) }))

export const User = component(
  'User',
  Type.Object(
    {
      userId: Type.String({ examples: ['ann'] }),
      email: Type.String({ examples: ['ann@example.com'] }),
      ttl: Type.Optional(StoredTtl)
    },
    { description: 'A user.' }
  )
)
export const UserPage = pageOf('UserPage', User)
export const UserContent = component('UserContent', strict({ email: Email, ttl: Type.Optional(Ttl) }))

export const LiveQuery = strict({
  userId: Type.Optional({ ...UserId, default: 'anonymous' } as typeof UserId)
})
export const LastEventId = Type.Object({
  'last-event-id': Type.Optional(
    Type.Integer({ minimum: 0, description: 'The version that the client has; sent by `EventSource` by itself.' })
  )
})

const MessageId = Type.Union([Type.String({ maxLength: 256 }), Type.Number()], {
  description: 'Any; the answer repeats it.',
  examples: [1]
})
const AnswerId = Type.Union([Type.String(), Type.Number(), Type.Null()], {
  description: 'The request’s.',
  examples: [1]
})
const Version = Type.Integer({ examples: [7] })
const UpdatedAt = Type.Optional(Timestamp('When it was written.'))
const Name = Type.String({ examples: ['lobby/score'] })

/** What a client says on a socket. */
export const LiveRequest = component(
  'LiveRequest',
  strict(
    {
      type: Type.Enum(['subscribe', 'unsubscribe', 'get', 'set']),
      id: Type.Optional(MessageId),
      name: StateName,
      value: Type.Optional(Value),
      since: Type.Optional(
        Type.Integer({ minimum: 0, description: '`subscribe`: the version that the client has.', examples: [7] })
      ),
      updatedAt: Type.Optional(
        Type.String({ maxLength: 64, description: '`subscribe`: the `updatedAt` of the version that the client has.' })
      )
    },
    { description: 'What a client says on a socket; `set` needs a `value`.' }
  )
)
const LiveOk = component(
  'LiveOk',
  Type.Object(
    {
      type: Type.Literal('ok'),
      id: AnswerId,
      name: Name,
      connectionId: Type.Optional(Type.String({ description: 'After `subscribe`.' })),
      value: Type.Optional(Type.Unknown({ description: 'After `get`.' })),
      version: Type.Optional(Version),
      updatedAt: UpdatedAt,
      ttl: Type.Optional(StoredTtl)
    },
    { description: 'A request was carried out.' }
  )
)
const LiveError = component(
  'LiveError',
  Type.Object(
    {
      type: Type.Literal('error'),
      id: AnswerId,
      code: Type.String({ examples: ['state-not-found'] }),
      status: Type.Integer({ examples: [404] }),
      detail: Type.String(),
      errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() })))
    },
    { description: 'A request was not carried out; the codes are those of the other routes.' }
  )
)
const LiveValue = component(
  'LiveValue',
  Type.Object(
    { type: Type.Literal('value'), name: Name, value: Value, version: Version, updatedAt: UpdatedAt },
    { description: 'The present value of a state that the client has subscribed to.' }
  )
)
const LiveDeleted = component(
  'LiveDeleted',
  Type.Object({ type: Type.Literal('deleted'), name: Name }, { description: 'The state is gone.' })
)
/** What is said on a socket, by either side. */
export const LiveMessage = Type.Union([LiveRequest, LiveOk, LiveError, LiveValue, LiveDeleted])
