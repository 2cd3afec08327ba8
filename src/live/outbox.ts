import type { Message } from './hub.js'

/** Where messages leave to: a socket, or a stream of server-sent events. */
export interface Sink {
  /** Calls back once the network has taken the message. */
  send(message: Message | { text: string }, taken: () => void): void
  close(code: number, reason: string): void
}

/**
 * What waits for one subscriber. One message is on its way at a time; of what comes meanwhile, each state's newest
 * waits and the older are forgotten, so that a slow reader costs one value a state and delays no one.
 */
export function createOutbox(sink: Sink, sent: (message: Message) => void) {
  const answers: { text: string; taken: () => void }[] = []
  const values = new Map<string, Message>()
  let isBusy = false
  let isClosed = false

  function flush(): void {
    if (isBusy || isClosed) return
    const answer = answers.shift()
    const [value] = values.values()
    if (answer) pass(answer, answer.taken)
    else if (value) {
      values.delete(value.name)
      pass(value, () => sent(value))
    }
  }

  function pass(message: Message | { text: string }, taken: () => void): void {
    isBusy = true
    sink.send(message, () => {
      isBusy = false
      taken()
      flush()
    })
  }

  return {
    /** The newest value of its state. */
    put(message: Message): void {
      values.set(message.name, message)
      flush()
    },
    /** An answer to the subscriber's own request; done when it has left. */
    answer(body: object): Promise<void> {
      if (isClosed) return Promise.resolve()
      return new Promise(taken => {
        answers.push({ text: JSON.stringify(body), taken })
        flush()
      })
    },
    /** What waits of a state is not wanted any more. */
    drop: (name: string) => void values.delete(name),
    waiting: () => values.size,
    close: () => {
      isClosed = true
      values.clear()
      for (const { taken } of answers.splice(0)) taken()
    }
  }
}
