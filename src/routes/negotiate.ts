import { Problem } from '../problems.js'

interface Range {
  type: string
  quality: number
}

/** The offered media type that an Accept header likes best; the first offer among equals (RFC 9110, 12.5.1). */
export function negotiate<const T extends string>(accept: string | undefined, offers: readonly [T, ...T[]]): T {
  const ranges = parse(accept ?? '*/*')
  const [best] = offers
    .map(offer => ({ offer, quality: qualityOf(offer, ranges) }))
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
  if (!best) throw new Problem('not-acceptable', `This is to be had as ${offers.join(', ')}`)
  return best.offer
}

function parse(accept: string): Range[] {
  return accept.split(',').map(part => {
    const [type = '', ...parameters] = part.split(';').map(text => text.trim().toLowerCase())
    const weight = parameters.find(parameter => /^q\s*=/.test(parameter))
    const quality = weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, ''))
    return { type: type || '*/*', quality: quality >= 0 && quality <= 1 ? quality : 0 }
  })
}

/** The most specific range that covers the type decides. */
function qualityOf(offer: string, ranges: Range[]): number {
  const [family] = offer.split('/')
  for (const type of [offer, `${family}/*`, '*/*']) {
    const range = ranges.find(candidate => candidate.type === type)
    if (range) return range.quality
  }
  return 0
}
