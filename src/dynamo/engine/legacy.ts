import type { Expression } from './conditions.js'
import type { Value } from './types.js'

/** A condition in the old style, from `Expected`, `QueryFilter` or `ScanFilter`. */
export interface LegacyCondition {
  Exists?: boolean
  Value?: Value
  ComparisonOperator?: string
  AttributeValueList?: Value[]
}

const operators: Record<string, string> = {
  EQ: '=',
  NE: '<>',
  LE: '<=',
  LT: '<',
  GE: '>=',
  GT: '>',
  IN: 'in',
  BETWEEN: 'between',
  BEGINS_WITH: 'begins_with',
  CONTAINS: 'contains',
  NOT_CONTAINS: 'contains',
  NULL: 'attribute_not_exists',
  NOT_NULL: 'attribute_exists'
}

/** Conditions in the old style, as an expression: one judge for both. */
export function toExpression(conditions: Record<string, LegacyCondition>, joinedBy = 'AND'): Expression {
  const args = Object.entries(conditions).map(([name, condition]) => one(name, condition))
  return { type: joinedBy === 'OR' ? 'or' : 'and', args }
}

function one(name: string, condition: LegacyCondition): Expression {
  const values = condition.AttributeValueList ?? (condition.Value ? [condition.Value] : [])
  const operator = condition.ComparisonOperator ?? (condition.Exists === false ? 'NULL' : 'EQ')
  const expr = { type: operators[operator] ?? operator, args: [[name], ...values] }
  return operator === 'NOT_CONTAINS' ? { type: 'not', args: [expr] } : expr
}
