// HTTP/1.1 by hand, for the two ends of a measurement: what they spend is taken from the servers between them.

/** Calls `told` with the head and the body of each message that comes. Lengths are told, nothing comes in chunks. */
export function readMessages(socket, told) {
  let text = ''
  // A character a byte, so that lengths are those of the message.
  socket.setEncoding('latin1')
  socket.on('data', part => {
    text = text === '' ? part : text + part
    for (;;) {
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = text.slice(0, end)
      const length = /\ncontent-length: *(\d+)/i.exec(head)
      if (!length && /\ntransfer-encoding:/i.test(head)) throw new Error('chunks are not understood')
      const whole = end + 4 + Number(length?.[1] ?? 0)
      if (text.length < whole) return
      const body = text.slice(end + 4, whole)
      text = text.slice(whole)
      told(head, body)
    }
  })
}

const linesOf = headers => Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)

/** A message; `first` is its request or status line. */
export function messageOf(first, headers, body = '') {
  const all = { ...headers, 'content-length': Buffer.byteLength(body) }
  return `${first}\r\n${linesOf(all).join('')}\r\n${body}`
}
