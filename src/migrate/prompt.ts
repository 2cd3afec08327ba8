import type { Password } from '../postgres/client.js'

/** Where someone may sit. */
interface Terminal {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  stderr: { write(text: string): unknown }
}

/** The password for PostgreSQL, asked for only if the server wants one: from PGPASSWORD, else from whoever sits there. */
export function passwordFrom(env: Record<string, string | undefined>, terminal: Terminal = process): Password {
  let asked: Promise<string> | undefined
  return () => {
    if (env.PGPASSWORD !== undefined) return Promise.resolve(env.PGPASSWORD)
    asked ??= prompt(terminal, 'Password for PostgreSQL: ')
    return asked
  }
}

/** Reads a line from the terminal without showing it. */
function prompt({ stdin, stderr }: Terminal, question: string): Promise<string> {
  if (!stdin.isTTY) {
    return Promise.reject(new Error('PostgreSQL wants a password: set PGPASSWORD, or run this in a terminal'))
  }
  // First, so that nothing is shown of what is typed as soon as the question stands there.
  stdin.setRawMode?.(true)
  stderr.write(question)
  stdin.setEncoding('utf8')
  return new Promise((resolve, reject) => {
    let typed = ''
    const end = (settle: () => void) => {
      stdin.setRawMode?.(false)
      stdin.pause()
      stdin.off('data', listen)
      stderr.write('\n')
      settle()
    }
    const listen = (text: string) => {
      for (const character of text) {
        if (character === '\r' || character === '\n') return end(() => resolve(typed))
        if (character === '\u0003' || character === '\u0004') return end(() => reject(new Error('no password given')))
        typed = character === '\u007f' || character === '\b' ? typed.slice(0, -1) : typed + character
      }
    }
    stdin.on('data', listen)
    stdin.resume()
  })
}
