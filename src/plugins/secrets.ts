/** Texts that leave the server or are kept, without the secrets that callers may have put where none belong. */

/** What follows a token's id: `tkn-….<secret>`, also where the dot is written as `%2e`. */
const TOKEN_SECRET = /(tkn-[\w-]{1,64}(?:\.|%2e))[\w-]{8,}/gi
const TELLING_PARAMETER = /([?&][^=&]*(?:token|secret|password|auth|key)[^=&]*=)[^&]*/gi

export function withoutTokens(text: string): string {
  return text.includes('tkn-') ? text.replace(TOKEN_SECRET, '$1***') : text
}

/** An address for the log: without tokens, without what parameters such as `access_token` say, and without the admin's. */
export function safeAddress(url: string, adminToken?: string): string {
  let safe = withoutTokens(url)
  if (safe.includes('?')) safe = safe.replace(TELLING_PARAMETER, '$1***')
  for (const secret of adminToken ? [adminToken, encodeURIComponent(adminToken)] : [])
    safe = safe.replaceAll(secret, '***')
  return safe
}
