/** What dynalite's parser of conditions is told beside the text, as far as it matters here. */
interface Context {
  attrNames?: Record<string, string>
  attrVals?: object
  unusedAttrNames: Record<string, boolean>
}

type Parse = (text: string, options: { context: Context }) => unknown

const MAX_KEPT = 500
const MAX_LENGTH = 1000

/**
 * Keeps what was parsed. Conditions without values, such as that an item is not there yet, come again with every
 * write, and dynalite's parser takes longer for one than the write itself. It also strikes off the names that it used.
 */
export function keepParsed(parse: Parse): Parse {
  const kept = new Map<string, { result: object; used: string[] }>()

  return (text, options) => {
    const { context } = options
    if (context.attrVals !== undefined) return parse(text, options)
    const names = Object.keys(context.attrNames ?? {})
    const key = JSON.stringify([text, context.attrNames])
    let found = kept.get(key)
    if (!found) {
      const unusedAttrNames = Object.fromEntries(names.map(name => [name, true]))
      const result = parse(text, { context: { ...context, unusedAttrNames } })
      // What is wrong with it is a text.
      if (typeof result !== 'object' || result === null) return result
      found = { result: frozen(result), used: names.filter(name => !(name in unusedAttrNames)) }
      if (kept.size >= MAX_KEPT) kept.clear()
      if (key.length <= MAX_LENGTH) kept.set(key, found)
    }
    for (const name of found.used) delete context.unusedAttrNames[name]
    return found.result
  }
}

function frozen<T extends object>(node: T): T {
  for (const part of Object.values(node)) if (typeof part === 'object' && part !== null) frozen(part)
  return Object.freeze(node)
}
