import type { ServiceContext } from './context.js'

/** A state as callers see it. One that others wrote may have no version yet, which is version 0, and no time. */
export interface StateView {
  name: string
  value: unknown
  version: number
  updatedAt?: string
  ttl?: number
}

/** What has happened to states, subscriptions and connections, for those who carry it to subscribers. */
export type RealtimeEvent =
  /** `created`: there was no such state before, so that versions may have begun anew. */
  | { kind: 'set'; state: StateView; created: boolean }
  | { kind: 'deleted'; name: string }
  | { kind: 'subscribed'; name: string; connectionId: string }
  | { kind: 'unsubscribed'; name: string; connectionId: string }
  | { kind: 'disconnected'; connectionId: string }

export interface RealtimeContext extends ServiceContext {
  /** Told after each write that succeeded. It neither fails nor waits. */
  publish(event: RealtimeEvent): void
}
