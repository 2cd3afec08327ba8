import type { Started, Test } from '../../test/helpers.js'

type Api = Started['api']
type Response = Awaited<ReturnType<Api['get']>>

/** One access pattern as a call. */
export interface Pattern {
  /** As its specification calls it. */
  name: string
  call: string
  make(api: Api, found: Record<string, string>): Promise<Response>
}

/** A domain's access patterns, to be measured one after the other on one app; later ones may rely on earlier ones. */
export interface DomainPatterns {
  /** Variables of the environment, for stand-ins of other services. */
  env?(t: Test): Promise<Record<string, string>>
  /** Puts there what the calls need; gives names that it has found, for them to use. */
  prepare(api: Api): Promise<Record<string, string>>
  patterns: Pattern[]
}
