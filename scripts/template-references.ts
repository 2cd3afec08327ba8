import type { Template } from './template-lint.js'

/** What a template's functions refer to: parameters, resources, and their attributes. */

const PSEUDO = /^AWS::(AccountId|NotificationARNs|NoValue|Partition|Region|StackId|StackName|URLSuffix)$/
const FUNCTIONS = [
  'Sub',
  'GetAtt',
  'Select',
  'Split',
  'Join',
  'If',
  'ImportValue',
  'Base64',
  'Cidr',
  'FindInMap',
  'GetAZs'
]

/** The API that SAM adds for functions with an HttpApi event. */
const ADDED_BY_SAM = 'ServerlessHttpApi'

/** A line for each reference to what is not there; `attributes` are those of a type of resource. */
export function referenceComplaints(template: Template, attributes: (type: string) => string[]): string[] {
  const resources = template.Resources
  const names = new Set([...Object.keys(template.Parameters ?? {}), ...Object.keys(resources)])
  if (template.Transform) names.add(ADDED_BY_SAM)

  const named = (at: string, name: unknown) =>
    typeof name === 'string' && (names.has(name) || PSEUDO.test(name)) ? [] : [`${at}: there is no ${name}`]

  function attribute(at: string, place: unknown): string[] {
    const [name = '', attribute = ''] = typeof place === 'string' ? place.split(/\.(.+)/) : (place as string[])
    const resource = resources[name]
    if (!resource) return [`${at}: there is no resource ${name}`]
    return attributes(resource.Type).includes(attribute) ? [] : [`${at}: ${resource.Type} has no ${attribute}`]
  }

  function substitution(at: string, value: unknown): string[] {
    const [text, own = {}] = Array.isArray(value) ? (value as [string, object]) : [value as string]
    const places = [...String(text).matchAll(/\$\{([^!}][^}]*)\}/g)].map(([, place = '']) => place)
    return places
      .filter(place => !(place in own))
      .flatMap(place => (place.includes('.') ? attribute(at, place) : named(at, place)))
  }

  function walk(at: string, node: unknown): string[] {
    if (typeof node !== 'object' || node === null) return []
    return Object.entries(node).flatMap(([key, value]) => {
      const place = at ? `${at}.${key}` : key
      if (key === 'Ref') return named(at, value)
      if (key === 'Fn::GetAtt') return attribute(at, value)
      if (key === 'Fn::Sub') return [...substitution(at, value), ...walk(place, value)]
      if (key.startsWith('Fn::') && !FUNCTIONS.includes(key.slice(4))) return [`${at}: there is no function ${key}`]
      return walk(place, value)
    })
  }
  return walk('', template)
}
