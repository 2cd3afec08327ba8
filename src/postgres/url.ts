/** What is wrong with the URL of a PostgreSQL database; the URL itself is not repeated, it may hold a password. */
export function urlProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return 'must be a URL such as postgres://user@host:5432/database'
  const { protocol, username, password, pathname } = new URL(url)
  if (protocol !== 'postgres:' && protocol !== 'postgresql:') return 'must begin with postgres://'
  if (pathname.length < 2) return 'must name a database, as in postgres://user@host:5432/database'
  return isEncoded(username + password + pathname) ? undefined : 'must have %25 where a % is meant'
}

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}
