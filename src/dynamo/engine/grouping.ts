import type { Expression } from './conditions.js'
import { validation } from './errors.js'

/** How a condition's parts are joined; a number stands for a part. */
type Tree = number | { type: 'and' | 'or' | 'not'; args: Tree[] }

/** A condition taken apart: all parts in a row, and how to join them again. */
interface Ungrouped {
  flat: string
  regroup(flat: Expression): Expression
  /** The first of OR and NOT that it holds. */
  operator?: 'or' | 'not'
}

const token = /\s*(<>|<=|>=|[()=<>,]|[^\s()=<>,]+)/y
const comparators = new Set(['=', '<>', '<', '<=', '>', '>=', 'BETWEEN', 'IN'])

// Functions and lists need one level, an operand in parentheses another.
const MAX_DEPTH_OF_PART = 3

/**
 * Takes the groups out of a condition. dynalite's parser takes eight times as long for every two levels of parentheses,
 * twelve of them a minute; so it only gets the parts, joined by AND, and the groups are put back into what it makes of them.
 */
export function ungroup(field: string, text: string): Ungrouped | undefined {
  const words = text.match(new RegExp(token, 'g'))?.map(word => word.trim()) ?? []
  if (!words.includes('(')) return undefined
  const parts = new Parts(field, words)
  const tree = parts.read()
  return {
    flat: parts.texts.join(' AND '),
    regroup: flat => join(tree, leavesOf(flat)),
    operator: operatorIn(tree)
  }
}

function operatorIn(tree: Tree): 'or' | 'not' | undefined {
  if (typeof tree === 'number') return undefined
  return tree.type === 'and' ? tree.args.map(operatorIn).find(Boolean) : tree.type
}

function leavesOf(expr: Expression): Expression[] {
  return expr.type === 'and' ? (expr.args as Expression[]).flatMap(leavesOf) : [expr]
}

function join(tree: Tree, leaves: Expression[]): Expression {
  if (typeof tree === 'number') return leaves[tree] as Expression
  return { type: tree.type, args: tree.args.map(part => join(part, leaves)) }
}

/** Reads words as parts joined by AND, OR and NOT. */
class Parts {
  readonly texts: string[] = []
  readonly #field: string
  readonly #words: string[]
  /** For each opening parenthesis, where it closes. */
  readonly #closing = new Map<number, number>()
  #at = 0

  constructor(field: string, words: string[]) {
    this.#field = field
    this.#words = words
    const open: number[] = []
    for (const [i, word] of words.entries()) {
      if (word === '(') open.push(i)
      if (word !== ')') continue
      const start = open.pop()
      if (start === undefined) throw this.#error('Syntax error; token: ")"')
      this.#closing.set(start, i)
    }
    if (open.length > 0) throw this.#error('Syntax error; token: <EOF>')
  }

  read(): Tree {
    const tree = this.#or()
    if (this.#at < this.#words.length) throw this.#error(`Syntax error; token: "${this.#words[this.#at]}"`)
    return tree
  }

  #or(): Tree {
    return this.#joined('or', () => this.#joined('and', () => this.#not()))
  }

  #joined(type: 'and' | 'or', next: () => Tree): Tree {
    const args = [next()]
    while (this.#is(type)) {
      this.#at++
      args.push(next())
    }
    return args.length === 1 ? (args[0] as Tree) : { type, args }
  }

  #not(): Tree {
    if (!this.#is('not')) return this.#isGroup(this.#at) ? this.#group() : this.#part()
    this.#at++
    return { type: 'not', args: [this.#not()] }
  }

  #is(word: string, at = this.#at): boolean {
    return this.#words[at]?.toLowerCase() === word
  }

  /** Whether a group begins here, rather than an operand in parentheses. */
  #isGroup(at: number): boolean {
    const end = this.#closing.get(at)
    return end !== undefined && !comparators.has((this.#words[end + 1] ?? '').toUpperCase())
  }

  #group(): Tree {
    const [start, end] = [this.#at, this.#closing.get(this.#at) as number]
    this.#refuseRedundant(start, end)
    this.#at++
    const tree = this.#or()
    if (this.#at !== end) throw this.#error(`Syntax error; token: "${this.#words[this.#at]}"`)
    this.#at++
    return tree
  }

  #refuseRedundant(start: number, end: number): void {
    if (this.#closing.get(start + 1) === end - 1) throw this.#error('The expression has redundant parentheses;')
  }

  /** One comparison or function, up to what joins it to the next. */
  #part(): Tree {
    const start = this.#at
    let depth = 0
    let isBetween = false
    for (; this.#at < this.#words.length; this.#at++) {
      const word = this.#words[this.#at] as string
      if (word === '(' && ++depth > MAX_DEPTH_OF_PART) throw this.#error('Syntax error; token: "("')
      if (word === '(') this.#refuseRedundant(this.#at, this.#closing.get(this.#at) as number)
      if (word === ')' && depth-- === 0) break
      if (depth > 0) continue
      if (this.#is('between')) isBetween = true
      else if (this.#is('and') && isBetween) isBetween = false
      else if (this.#is('and') || this.#is('or')) break
    }
    if (this.#at === start) throw this.#error(`Syntax error; token: "${this.#words[start] ?? '<EOF>'}"`)
    return this.texts.push(this.#words.slice(start, this.#at).join(' ')) - 1
  }

  #error(message: string): Error {
    return validation(`Invalid ${this.#field}: ${message}`)
  }
}
