import { writeSync } from 'node:fs'

/** Imported into a command, with `--expose-gc`: tells at its end how many bytes lived in it at most, garbage left out. */
const EVERY_MS = 200
let peak = 0

function measure(): void {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  peak = Math.max(peak, heapUsed + external)
}

setInterval(measure, EVERY_MS).unref()
process.once('exit', () => {
  measure()
  writeSync(2, `at most ${peak} bytes lived\n`)
})
