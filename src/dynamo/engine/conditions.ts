import type { Item, Value } from './types.js'

/** A place in an item: names, and numbers for places in lists. */
type Path = (string | number)[]

/** A condition or filter, as dynalite's parser makes it. */
export interface Expression {
  type: string
  name?: string
  args: Argument[]
}

type Argument = Expression | Path | Value

const order = ['<', '<=', '>', '>=']

/** Judges a condition or filter on an item. dynalite's own judgement fails on documents, sets, booleans and empty strings. */
export function matches(item: Item, expr: Expression): boolean {
  const inner = expr.args as Expression[]
  if (expr.type === 'and') return inner.every(part => matches(item, part))
  if (expr.type === 'or') return inner.some(part => matches(item, part))
  if (expr.type === 'not') return !inner.every(part => matches(item, part))
  const [value, ...others] = expr.args.map(arg => resolve(arg, item))
  return compare(expr.name ?? expr.type, value, others)
}

/** Has dynalite ask us: it resolves an empty path to the whole item, which is all we need to judge for ourselves. */
export function judgedHere(expr: Expression): Expression {
  const map = (resolveInItem: (path: Path) => { M: Item }) => [
    matches(resolveInItem([]).M, expr) ? { BOOL: true } : undefined
  ]
  // dynalite only maps the arguments, so something with a `map` will do.
  return { type: 'function', name: 'attribute_exists', args: { map } as unknown as Argument[] }
}

/** Both operands, where a missing one is undefined. */
function compare(operator: string, value: Value | undefined, others: (Value | undefined)[]): boolean {
  const [other] = others
  if (operator === 'attribute_exists') return value !== undefined
  if (operator === 'attribute_not_exists') return value === undefined
  if (operator === '<>') return value === undefined || other === undefined || !isEqual(value, other)
  if (value === undefined || other === undefined) return false
  if (operator === '=') return isEqual(value, other)
  if (operator === 'in') return others.some(each => each !== undefined && isEqual(value, each))
  if (operator === 'between') return isOrdered(other, '<=', value) && isOrdered(value, '<=', others[1])
  if (operator === 'begins_with') return beginsWith(value, other)
  if (operator === 'contains') return contains(value, other)
  if (operator === 'attribute_type') return typeOf(value) === other.S
  return order.includes(operator) && isOrdered(value, operator, other)
}

const typeOf = (value: Value) => Object.keys(value)[0] as keyof Value

function isOrdered(left: Value, operator: string, right: Value | undefined): boolean {
  if (right === undefined) return false
  const sign = compareScalars(left, right)
  if (sign === undefined) return false
  if (sign === 0) return operator.endsWith('=')
  return operator.startsWith(sign < 0 ? '<' : '>')
}

function compareScalars(left: Value, right: Value): number | undefined {
  if (left.S !== undefined && right.S !== undefined) return Buffer.compare(Buffer.from(left.S), Buffer.from(right.S))
  if (left.N !== undefined && right.N !== undefined) return compareNumbers(left.N, right.N)
  if (left.B !== undefined && right.B !== undefined) return Buffer.compare(binary(left.B), binary(right.B))
  return undefined
}

const binary = (base64: string) => Buffer.from(base64, 'base64')

/** Compares plain decimals of up to 38 digits, which is what dynalite's validations turn every number into. */
function compareNumbers(left: string, right: string): number {
  const a = split(left)
  const b = split(right)
  if (a.sign !== b.sign) return a.sign - b.sign
  const size = Math.max(a.whole.length, b.whole.length)
  const [x, y] = [a.whole.padStart(size, '0') + a.part, b.whole.padStart(size, '0') + b.part]
  return x === y ? 0 : x < y ? -a.sign : a.sign
}

function split(number: string): { sign: number; whole: string; part: string } {
  const [whole = '', part = ''] = number.replace('-', '').split('.')
  const isZero = /^[0.]*$/.test(number.replace('-', ''))
  return { sign: isZero ? 0 : number.startsWith('-') ? -1 : 1, whole, part: part.replace(/0+$/, '') }
}

/** Equal in type and content; sets in any order, documents all the way down. */
function isEqual(left: Value, right: Value): boolean {
  if (typeOf(left) !== typeOf(right)) return false
  if (left.M && right.M) return areEqualMaps(left.M, right.M)
  if (left.L && right.L) return areEqualLists(left.L, right.L)
  if (left.N !== undefined && right.N !== undefined) return compareNumbers(left.N, right.N) === 0
  const type = typeOf(left)
  const [a, b] = [left[type], right[type]]
  if (Array.isArray(a) && Array.isArray(b)) return areEqualSets(a as string[], b as string[])
  return a === b
}

const areEqualLists = (left: Value[], right: Value[]) =>
  left.length === right.length && left.every((value, i) => isEqual(value, right[i] as Value))

/** Whether two maps, or two items, hold the same. */
export function areEqualMaps(left: Item, right: Item): boolean {
  const names = Object.keys(left)
  if (names.length !== Object.keys(right).length) return false
  return names.every(name => Object.hasOwn(right, name) && isEqual(left[name] as Value, right[name] as Value))
}

function areEqualSets(left: string[], right: string[]): boolean {
  const members = new Set(right)
  return left.length === members.size && left.every(member => members.has(member))
}

function beginsWith(value: Value, prefix: Value): boolean {
  if (value.S !== undefined && prefix.S !== undefined) return value.S.startsWith(prefix.S)
  if (value.B === undefined || prefix.B === undefined) return false
  const start = binary(prefix.B)
  return binary(value.B).subarray(0, start.length).equals(start)
}

function contains(value: Value, part: Value): boolean {
  if (value.L) return value.L.some(member => isEqual(member, part))
  if (value.S !== undefined && part.S !== undefined) return value.S.includes(part.S)
  if (value.B !== undefined && part.B !== undefined) return binary(value.B).includes(binary(part.B))
  if (value.SS && part.S !== undefined) return value.SS.includes(part.S)
  if (value.NS && part.N !== undefined) return value.NS.includes(part.N)
  return Boolean(value.BS && part.B !== undefined && value.BS.includes(part.B))
}

function resolve(arg: Argument, item: Item): Value | undefined {
  if (Array.isArray(arg)) return follow(arg, item)
  if (!isExpression(arg)) return arg
  const value = arg.args[0] && resolve(arg.args[0], item)
  const size = value && sizeOf(value)
  return size === undefined ? undefined : { N: String(size) }
}

const isExpression = (arg: Expression | Value): arg is Expression => 'type' in arg

function follow(path: Path, item: Item): Value | undefined {
  let value: Value | undefined = { M: item }
  for (const step of path) {
    if (typeof step === 'number') value = value.L?.[step]
    else value = value.M && Object.hasOwn(value.M, step) ? value.M[step] : undefined
    if (value === undefined) return undefined
  }
  return value
}

function sizeOf(value: Value): number | undefined {
  if (value.S !== undefined) return value.S.length
  if (value.B !== undefined) return binary(value.B).length
  if (value.M) return Object.keys(value.M).length
  return (value.SS ?? value.NS ?? value.BS ?? value.L)?.length
}
