import { Transform } from 'node:stream'

/** A short report: a line a test file, every failure in full, and the count at the end. */
export default class Reporter extends Transform {
  #rest = ''
  #failure = 0
  #count = { pass: 0, fail: 0, skip: 0 }

  _transform(chunk, _encoding, done) {
    const lines = (this.#rest + chunk).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(line)
    done()
  }

  _flush(done) {
    const { pass, fail, skip } = this.#count
    this.push(`${pass} passed, ${fail} failed${skip ? `, ${skip} skipped` : ''}\n`)
    done()
  }

  #take(line) {
    const totals = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?(?:, todo: \d+)?(?:, skip: (\d+))? \}/.exec(
      line
    )
    if (totals) {
      this.#count = { pass: Number(totals[1] ?? 0), fail: Number(totals[2] ?? 0), skip: Number(totals[3] ?? 0) }
      return
    }
    const indent = line.length - line.trimStart().length
    const isResult = /^(not )?ok \d/.test(line.trimStart())
    if (isResult || line.startsWith('#')) this.#failure = 0
    if (/^not ok/.test(line.trimStart())) this.#failure = 40
    if (this.#failure > 0) {
      this.#failure -= 1
      this.push(`${line}\n`)
    } else if ((isResult && indent === 0) || / # SKIP/i.test(line) || /^Bail out/.test(line)) this.push(`${line}\n`)
  }
}
