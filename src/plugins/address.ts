import type { FastifyRequest } from 'fastify'

const API = /^\/v1(\/|\?|$)/

/**
 * Whether a request is for the API. The route that took it decides, and not only the text of its address, which can be
 * written in many ways (`/%761/…`, `http://any.host/v1/…`).
 */
export function isApi({ routeOptions, url }: FastifyRequest): boolean {
  return API.test(routeOptions.url ?? '') || API.test(url)
}
