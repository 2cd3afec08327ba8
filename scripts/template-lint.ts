import { loadAwsServiceSpecSync } from '@aws-cdk/aws-service-spec'
import { referenceComplaints } from './template-references.js'

/**
 * Checks templates against AWS's own specification of its resources, from which its CDK is generated: the types of
 * resources, their properties, what these may hold and which are required. It has SAM's resources, too.
 */

type Spec = ReturnType<typeof loadAwsServiceSpecSync>
type Resource = ReturnType<Spec['lookup']>[number] & {
  properties: Record<string, Property>
  attributes: Record<string, unknown>
}
type Property = { type: Type; required?: boolean }
type Properties = Record<string, Property>
type Type = { type: string; element?: Type; types?: Type[]; reference?: { $ref: string } }
type Node = Record<string, unknown>

export interface Template {
  Transform?: string
  Parameters?: Node
  Globals?: Record<string, Node>
  Resources: Record<string, { Type: string; Properties?: Node } & Node>
  Outputs?: Record<string, Node>
}

const SECTIONS = [
  'AWSTemplateFormatVersion',
  'Transform',
  'Description',
  'Parameters',
  'Globals',
  'Resources',
  'Outputs'
]
const BESIDE_PROPERTIES = ['Type', 'Properties', 'DependsOn', 'Condition', 'DeletionPolicy', 'UpdateReplacePolicy']
const SCALARS: Record<string, (value: unknown) => boolean> = {
  string: value => typeof value === 'string',
  boolean: value => typeof value === 'boolean',
  number: value => typeof value === 'number',
  integer: value => Number.isInteger(value),
  json: value => typeof value === 'object' || typeof value === 'string',
  'date-time': value => typeof value === 'string'
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
const isFunction = (value: unknown) => isNode(value) && /^(Ref|Condition|Fn::\w+)$/.test(Object.keys(value).join())

/** Read once: it is large. */
let loaded: Spec | undefined
const load = () => (loaded ??= loadAwsServiceSpecSync())

/** Everything that is wrong with a template, a line each. */
export function lintTemplate(template: Template): string[] {
  const spec = load()
  const find = (type: string) =>
    spec.lookup('resource', 'cloudFormationType', 'equals', type)[0] as Resource | undefined
  const checks = checking(spec, find)
  const complaints = unknownNames('', template as unknown as Node, SECTIONS)
  for (const [name, { Type, Properties = {}, ...rest }] of Object.entries(template.Resources)) {
    const resource = find(Type)
    complaints.push(...unknownNames(name, rest, BESIDE_PROPERTIES))
    if (resource) complaints.push(...checks.properties(`${name}.Properties`, Properties, resource.properties))
    else complaints.push(`${name}: there is no ${Type}`)
  }
  for (const [kind, values] of Object.entries(template.Globals ?? {})) {
    const known = optional(find(`AWS::Serverless::${kind}`)?.properties ?? {})
    complaints.push(...checks.properties(`Globals.${kind}`, values, known))
  }
  const attributes = (type: string) => Object.keys(find(type)?.attributes ?? {})
  return [...complaints, ...referenceComplaints(template, attributes)]
}

function checking(spec: Spec, find: (type: string) => Resource | undefined) {
  const definition = ({ reference }: Type) =>
    spec.get('typeDefinition', reference?.$ref as string) as unknown as { name: string; properties: Properties }

  function properties(at: string, values: Node, known: Properties): string[] {
    const missing = Object.keys(known).filter(name => known[name]?.required && !(name in values))
    return [
      ...missing.map(name => `${at}: ${name} is required`),
      ...unknownNames(at, values, Object.keys(known)),
      ...Object.entries(values).flatMap(([name, value]) => {
        const property = known[name]
        return property ? check(`${at}.${name}`, value, property.type) : []
      })
    ]
  }

  function check(at: string, value: unknown, type: Type): string[] {
    if (isFunction(value)) return []
    if (type.type === 'union')
      return closest(
        at,
        (type.types ?? []).map(one => check(at, value, one))
      )
    if (type.type === 'array') {
      if (!Array.isArray(value)) return [`${at}: is no list`]
      return value.flatMap((part, i) => check(`${at}[${i}]`, part, type.element as Type))
    }
    const scalar = SCALARS[type.type]
    if (scalar) return scalar(value) ? [] : [`${at}: is no ${type.type}`]
    if (!isNode(value)) return [`${at}: is no map`]
    if (type.type === 'map') {
      return Object.entries(value).flatMap(([name, part]) => check(`${at}.${name}`, part, type.element as Type))
    }
    if (type.type !== 'ref') return []
    const { name, properties: known } = definition(type)
    return name === 'EventSource' ? event(at, value, known) : properties(at, value, known)
  }

  /** An event of SAM: its type says which properties it has. They may be left out where none is required. */
  function event(at: string, { Type, Properties = {} }: Node, { Properties: all }: Properties): string[] {
    const own = all?.type.types?.map(definition).find(({ name }) => name === `${Type}Event`)
    if (!own) return [`${at}: there is no event of type ${Type}`]
    return properties(`${at}.Properties`, Properties as Node, { ...passedOn(Type), ...own.properties })
  }

  /** The specification's SAM is older than the rest; what an event from a stream has, SAM passes on as it is. */
  function passedOn(type: unknown): Properties {
    const isStream = ['DynamoDB', 'Kinesis', 'SQS'].includes(String(type))
    return isStream ? optional(find('AWS::Lambda::EventSourceMapping')?.properties ?? {}) : {}
  }

  return { properties }
}

const optional = (properties: Properties): Properties =>
  Object.fromEntries(Object.entries(properties).map(([name, { type }]) => [name, { type }]))

/** Of a union's alternatives, the one of the value's own kind with the fewest complaints. */
function closest(at: string, alternatives: string[][]): string[] {
  const ofKind = alternatives.filter(complaints => !complaints.some(line => line.startsWith(`${at}: is no `)))
  return (ofKind.length ? ofKind : alternatives).toSorted((a, b) => a.length - b.length)[0] ?? []
}

const unknownNames = (at: string, values: Node, known: string[]) =>
  Object.keys(values)
    .filter(name => !known.includes(name))
    .map(name => `${at || 'template'}: ${name} is not known`)
