const VERSION = /^(\d+)\.(\d+)\.(\d+)$/

/** Whether one `major.minor.patch` is older than another, by number; what is no version is older than any. */
export function isOlder(version: string | undefined, than: string): boolean {
  const [, ...parts] = VERSION.exec(version ?? '') ?? []
  if (parts.length === 0) return true
  const others = than.split('.').map(Number)
  const differing = parts.findIndex((part, i) => Number(part) !== others[i])
  return differing >= 0 && Number(parts[differing]) < Number(others[differing])
}
