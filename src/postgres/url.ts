/** What is wrong with the URL of a PostgreSQL database; the URL itself is not repeated, it may hold a password. */
export function urlProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return 'must be a URL such as postgres://user@host:5432/database'
  const { protocol, pathname } = new URL(url)
  if (protocol !== 'postgres:' && protocol !== 'postgresql:') return 'must begin with postgres://'
  return pathname.length > 1 ? undefined : 'must name a database, as in postgres://user@host:5432/database'
}
