import type { RealtimeEvent } from '../services/realtime-events.js'

/** What travels between nodes: an event, or the news that a state has changed, or many have, and must be read. */
export type LiveEvent = RealtimeEvent | { kind: 'changed'; name: string } | { kind: 'missed' }

export interface Listener {
  /** `at`: when it was published, in epoch milliseconds. */
  receive(event: Exclude<LiveEvent, { kind: 'missed' }>, at: number): void
  /** Events may have been missed. */
  recover(): void
}

/** Carries events from whoever writes to all nodes, this one included. */
export interface Broker {
  /** Neither fails nor waits: the write has happened whatever becomes of the news. */
  publish(event: RealtimeEvent): void
  subscribe(listener: Listener): void
  close(): Promise<void>
}

/** For a single node: events stay in the process. */
export function localBroker(now: () => number): Broker {
  const listeners: Listener[] = []
  return {
    publish: event => {
      for (const listener of listeners) listener.receive(event, now())
    },
    subscribe: listener => void listeners.push(listener),
    close: async () => {}
  }
}
