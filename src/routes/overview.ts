import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { canonical, gatherEtag } from '../etag.js'
import type { OverviewPart } from '../services/project-overview.js'

/** A project's overview as an answer: whole while it is one page, else sent page by page, so that none of it is kept. */

type Parts = AsyncGenerator<OverviewPart, void>

/** With `If-None-Match` the tag must be known before the first byte, so everything is read before it is sent. */
export async function sendOverview({ headers }: FastifyRequest, reply: FastifyReply, parts: Parts) {
  const first = (await parts.next()).value as OverviewPart
  if (first.isOnePage || headers['if-none-match'] !== undefined) return gather(first, parts)
  const { add, tag } = gatherEtag()
  reply.trailer('etag', (_reply, _payload, done) => done(null, tag()))
  reply.type('application/json; charset=utf-8')
  return reply.send(Readable.from(textOf(first, parts, add), { objectMode: false }))
}

async function gather({ project, targets, tokens }: OverviewPart, rest: Parts) {
  for await (const part of rest) {
    targets.push(...part.targets)
    tokens.push(...part.tokens)
  }
  return { project, targets, tokens }
}

/** The answer's text, and beside it the canonical form for its tag. */
async function* textOf(first: OverviewPart, rest: Parts, tell: (canonical: string) => void): AsyncGenerator<Buffer> {
  const json = writer(JSON.stringify, {
    open: '{"project":',
    targets: ',"targets":[',
    tokens: '],"tokens":[',
    close: ']}'
  })
  const tagged = writer(canonical, {
    open: '[["project",',
    targets: '],["targets",[',
    tokens: ']],["tokens",[',
    close: ']]]'
  })
  const write = (part: OverviewPart) => {
    tell(tagged(part))
    return Buffer.from(json(part))
  }
  yield write(first)
  for await (const part of rest) yield write(part)
}

/** Writes part after part, with what stands around them. In a partition all targets come before the first token. */
function writer(write: (value: object) => string, shape: Record<'open' | 'targets' | 'tokens' | 'close', string>) {
  let isOpen = false
  let hasTokens = false
  let comma = ''
  const members = (items: object[]) => {
    if (items.length === 0) return ''
    const text = comma + write(items).slice(1, -1)
    comma = ','
    return text
  }
  return ({ project, targets, tokens, isLast }: OverviewPart): string => {
    let text = isOpen ? '' : shape.open + write(project) + shape.targets
    isOpen = true
    text += members(targets)
    if (!hasTokens && (tokens.length > 0 || isLast)) {
      text += shape.tokens
      hasTokens = true
      comma = ''
    }
    return text + members(tokens) + (isLast ? shape.close : '')
  }
}
