import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'undici'
import { type Started, type StartOptions, start, type Test } from './helpers.js'

export interface LiveMessage {
  type: 'value' | 'deleted' | 'ok' | 'error'
  id?: string | number | null
  name?: string
  value?: unknown
  version?: number
  updatedAt?: string
  code?: string
  connectionId?: string
}

/** An app that listens, for clients that need a network. */
export async function listen(t: Test, options: StartOptions = {}): Promise<Started & { url: string }> {
  const started = await start(t, { domains: ['realtime'], ...options })
  return { ...started, url: await started.app.listen({ host: '127.0.0.1', port: 0 }) }
}

/** Waits until something is so; fails with what it is instead. */
export async function until(what: string, isSo: () => unknown, ms = 60_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`In ${ms} ms it did not come to be: ${what}`)
    await sleep(10)
  }
}

/** A client of /v1/live that keeps all it gets. */
export async function openSocket(url: string, query = '', options: { protocols?: string[]; headers?: object } = {}) {
  const address = `${url.replace(/^http/, 'ws')}/v1/live${query}`
  const socket = new WebSocket(address, options as ConstructorParameters<typeof WebSocket>[1])
  const messages: LiveMessage[] = []
  let ids = 0
  const closed = new Promise<{ code: number; reason: string }>(resolve =>
    socket.addEventListener('close', ({ code, reason }) => resolve({ code, reason }))
  )
  const waiting = new Set<(message: LiveMessage) => void>()
  socket.addEventListener('message', ({ data }) => {
    const message: LiveMessage = JSON.parse(String(data))
    messages.push(message)
    for (const look of waiting) look(message)
  })
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('The socket was refused')))
  })
  const find = async (is: (message: LiveMessage) => boolean, what: string) => {
    const found = messages.find(is)
    if (found) return found
    return new Promise<LiveMessage>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`It did not come: ${what}`)), 60_000)
      const look = (message: LiveMessage) => {
        if (!is(message)) return
        clearTimeout(timer)
        waiting.delete(look)
        resolve(message)
      }
      waiting.add(look)
    })
  }
  return {
    messages,
    closed,
    protocol: socket.protocol,
    raw: (text: string | Uint8Array) => socket.send(text),
    /** Sends a request and waits for its answer. */
    async call(type: string, name: string, more: object = {}): Promise<LiveMessage> {
      const id = `call-${++ids}`
      socket.send(JSON.stringify({ type, id, name, ...more }))
      return find(message => message.id === id, `an answer to ${type} ${name}`)
    },
    values: (name: string) => messages.filter(m => m.type === 'value' && m.name === name),
    value: (name: string, version: number) =>
      find(m => m.type === 'value' && m.name === name && m.version === version, `${name} in version ${version}`),
    find,
    close: () => socket.close()
  }
}

/** A client that asks for something and stops reading once it is answered, as a phone in a tunnel does. */
async function askAndStop(url: string, path: string, headers: string[] = []): Promise<Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write([`GET ${path} HTTP/1.1`, `Host: ${host}`, ...headers, '', ''].join('\r\n'))
  await once(socket, 'data')
  return socket.pause()
}

/** A reader of server-sent events that stops reading. */
export const openSilentEvents = (url: string, name: string) => askAndStop(url, `/v1/states/${name}/events`)

/** A client of /v1/live that subscribes and then stops reading. */
export async function openSilent(url: string, names: string[]): Promise<Socket> {
  const socket = await askAndStop(url, '/v1/live', [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
  ])
  for (const name of names) socket.write(frame(JSON.stringify({ type: 'subscribe', name })))
  return socket
}

/** A short text as a client's frame, masked with zeros. */
function frame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | Buffer.byteLength(text), 0, 0, 0, 0]), Buffer.from(text)])
}

/** A client of server-sent events that keeps all it gets. */
export async function openEvents(url: string, name: string, headers: Record<string, string> = {}) {
  const abort = new AbortController()
  const response = await fetch(`${url}/v1/states/${encodeURIComponent(name)}/events`, {
    headers,
    signal: abort.signal
  })
  const events: { id?: string; event?: string; data?: LiveMessage }[] = []
  const state = { text: '', ended: false }
  const read = async () => {
    for await (const chunk of response.body ?? []) {
      state.text += Buffer.from(chunk).toString()
      const parts = state.text.split('\n\n')
      state.text = parts.pop() ?? ''
      for (const part of parts) {
        const fields = Object.fromEntries(part.split('\n').map(line => line.split(/: (.*)/s).slice(0, 2)))
        events.push({ ...fields, ...(fields.data ? { data: JSON.parse(fields.data) } : {}) })
      }
    }
  }
  void read()
    .catch(() => {})
    .finally(() => {
      state.ended = true
    })
  return { response, events, isEnded: () => state.ended, close: () => abort.abort() }
}
