import type { LiveEvent } from './broker.js'

/** An event on its way between nodes: from which, and when it was published, in epoch milliseconds. */
export interface Envelope {
  node: string
  at: number
  event: LiveEvent
}

type Members = Record<string, unknown>

const isText = (value: unknown) => typeof value === 'string'
const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null
const isMissingOr = (type: string, value: unknown) => value === undefined || typeof value === type

/** What an event of each kind must hold, to be one. */
const shapes: Record<LiveEvent['kind'], (event: Members) => boolean> = {
  set: ({ state, created }) => isObject(state) && isState(state) && typeof created === 'boolean',
  deleted: ({ name }) => isText(name),
  changed: ({ name }) => isText(name),
  missed: () => true,
  subscribed: ({ name, connectionId }) => isText(name) && isText(connectionId),
  unsubscribed: ({ name, connectionId }) => isText(name) && isText(connectionId),
  disconnected: ({ connectionId }) => isText(connectionId)
}

function isState({ name, value, version, updatedAt, ttl }: Members): boolean {
  const isCounted = Number.isSafeInteger(version) && (version as number) >= 0
  const isTimed = isMissingOr('string', updatedAt) && isMissingOr('number', ttl)
  return isText(name) && value !== undefined && isShallow(value, MAX_DEPTH) && isCounted && isTimed
}

/** DynamoDB stores no more levels; of many more the text for subscribers could not be made. */
const MAX_DEPTH = 32
const isShallow = (value: unknown, levels: number): boolean =>
  !isObject(value) || (levels > 0 && Object.values(value).every(one => isShallow(one, levels - 1)))

/** Others may use the channel, too, and newer nodes say what we do not know: what is not ours is nothing. */
export function parseEnvelope(text: string): Envelope | undefined {
  try {
    const { node, at, event } = JSON.parse(text)
    const isOurs = isText(node) && Number.isFinite(at) && Object.hasOwn(shapes, event.kind)
    return isOurs && shapes[event.kind as LiveEvent['kind']](event) ? { node, at, event } : undefined
  } catch {
    return undefined
  }
}
