import type { Item } from '../dynamo/values.js'
import { type FieldError, Problem } from '../problems.js'

/** Cello's rules for targets of type `aws_account`. */
export const AWS_ACCOUNT = 'aws_account'

const ROLE_ARN = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/
const POLICY_ARN = /^arn:aws[a-z-]*:iam::(\d{12}|aws):policy\/[\w+=,.@/-]{1,512}$/
const MAX_POLICIES = 5

const matches = (value: unknown, pattern: RegExp) => typeof value === 'string' && pattern.test(value)

const rules: Record<string, (value: unknown) => string | false> = {
  credential_type: value => value !== 'assumed_role' && 'must be assumed_role',
  role_arn: value => !matches(value, ROLE_ARN) && 'must be the ARN of an IAM role',
  policy_arns: value =>
    (!Array.isArray(value) && 'must be a list of ARNs of IAM policies') ||
    ((value as unknown[]).length > MAX_POLICIES && `must hold at most ${MAX_POLICIES} ARNs`) ||
    (!(value as unknown[]).every(arn => matches(arn, POLICY_ARN)) && 'must hold ARNs of IAM policies only'),
  policy_document: value => !isJsonText(value) && 'must be a policy document as JSON text'
}
const REQUIRED = ['credential_type', 'role_arn']

function isJsonText(value: unknown): boolean {
  try {
    return typeof value === 'string' && typeof JSON.parse(value) === 'object'
  } catch {
    return false
  }
}

type Scope = 'whole' | 'partial'

/** What is wrong with an account's properties; of a merge patch (`partial`) only what it sends is judged. */
export function awsAccountErrors(properties: Item, scope: Scope): FieldError[] {
  return Object.entries(rules).flatMap(([name, broken]) => {
    const path = `body/properties/${name}`
    const value = properties[name]
    const isRequired = REQUIRED.includes(name)
    if (value === undefined) return isRequired && scope === 'whole' ? [{ path, message: 'is required' }] : []
    if (value === null && scope === 'partial') return isRequired ? [{ path, message: 'is required' }] : []
    const message = broken(value)
    return message ? [{ path, message }] : []
  })
}

/** Refuses a target whose type has rules that its properties, or the patch of them, break. */
export function assertTarget({ type, properties }: { type: string; properties: Item }, scope: Scope = 'whole'): void {
  const errors = type === AWS_ACCOUNT ? awsAccountErrors(properties, scope) : []
  if (errors.length === 0) return
  throw new Problem('invalid-request', errors.map(e => `${e.path} ${e.message}`).join('; '), { errors })
}

/** An account's credential type stays what it was, also when the type of the target is changed. */
export function assertCredentialTypeKept(
  before: { type: string; properties: Item },
  after: { properties: Item }
): void {
  const old = before.properties.credential_type
  if (before.type !== AWS_ACCOUNT || old === undefined || old === after.properties.credential_type) return
  throw new Problem('credential-type-fixed', `The target's credential type is ${old} and stays so`)
}
