/** Where a command writes: lines for everyone, and a bar that a terminal shows below them. */
export interface Output {
  line(text: string): void
  progress(total: number): { add(amount: number): void; end(): void }
}

interface Terminal {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

const BAR = 30
const REDRAW_MS = 100
const LINE_MS = 5000

/** In a terminal a bar is redrawn in place; elsewhere a plain line tells of progress every few seconds. */
export function createOutput(stdout: Terminal, now: () => number): Output {
  let bar = ''
  const clear = () => bar && stdout.write(`\r\u001b[K`)
  const line = (text: string) => {
    clear()
    stdout.write(`${text}\n${bar}`)
  }

  function progress(total: number) {
    let done = 0
    let told = now()
    const share = () => (total > 0 ? Math.min(1, done / total) : 1)
    const draw = () => {
      clear()
      const filled = Math.round(share() * BAR)
      bar = `[${'#'.repeat(filled)}${' '.repeat(BAR - filled)}] ${Math.floor(share() * 100)} %`
      stdout.write(bar)
    }
    return {
      add(amount: number) {
        done += amount
        if (now() - told < (stdout.isTTY ? REDRAW_MS : LINE_MS)) return
        told = now()
        if (stdout.isTTY) draw()
        else line(`${Math.floor(share() * 100)} % done`)
      },
      end() {
        clear()
        bar = ''
      }
    }
  }

  return { line, progress }
}
