/** Where an alias is, as the table names it: the host in reverse order, and the path below which it serves. */
export interface AliasName {
  hostnameRev: string
  basePath: string
}

const LABEL = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
/** A DNS name. */
export const HOSTNAME = `^${LABEL}(\\.${LABEL})*$`
/** A DNS name, or `*.` and one. */
export const ALIAS_HOSTNAME = `^(\\*\\.)?${LABEL}(\\.${LABEL})*$`
export const MAX_HOSTNAME = 253
/** A name that is longer cannot be stored. */
export const MAX_KEY_BYTES = 1024

/** How many segments a base path may have: its prefixes, of routes and of configs, are then found in one request. */
export const MAX_SEGMENTS = 49
const SEGMENT = '/[^/?#\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]+'
/** `/`, or segments of which none is empty; no `?`, no `#`, no `..`, no control characters. */
export const BASE_PATH = `^(?!.*\\.\\.)(/|(${SEGMENT}){1,${MAX_SEGMENTS}})$`

/** `docs.example.com` to `com.example.docs` and back; `*.example.com` is stored as `com.example.*`. */
export function reversed(hostname: string): string {
  return hostname.split('.').reverse().join('.')
}

/** The table's name of an alias; hosts know no upper case. */
export function aliasName(hostname: string, basePath = '/'): AliasName {
  return { hostnameRev: reversed(hostname.toLowerCase()), basePath }
}

/** The alias that a target such as `example.com/docs` names, if it can be one. */
export function aliasOfTarget(target: string): AliasName | undefined {
  const slash = target.indexOf('/')
  const [hostname, basePath] = slash < 0 ? [target, '/'] : [target.slice(0, slash), target.slice(slash)]
  const isAlias =
    hostname.length <= MAX_HOSTNAME + 2 && isMatch(ALIAS_HOSTNAME, hostname) && isMatch(BASE_PATH, basePath)
  return isAlias ? aliasName(hostname, basePath) : undefined
}

const isMatch = (pattern: string, text: string) => new RegExp(pattern, 'u').test(text)

/** `*.example.com` for `docs.example.com`: a wildcard stands for one label, as in certificates. */
export function wildcardOf(hostname: string): string | undefined {
  const dot = hostname.indexOf('.')
  return dot < 0 ? undefined : `*${hostname.slice(dot)}`
}

/** The base paths that serve a path, the shortest first: `/`, `/docs` and `/docs/a` for `/docs/a/`. */
export function basePathsOf(path: string): string[] {
  const found = ['/']
  for (let end = path.indexOf('/', 1); found.length <= MAX_SEGMENTS; end = path.indexOf('/', end + 1)) {
    const prefix = end < 0 ? path : path.slice(0, end)
    if (!prefix.endsWith('/')) found.push(prefix)
    if (end < 0) break
  }
  return found
}
