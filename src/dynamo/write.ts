import type { Dynamo } from './client.js'
import { strangeType } from './declared.js'
import type { Part } from './transact.js'
import { type Attributes, type Item, unmarshal } from './values.js'

/** Writes that ElectroDB can only begin to say: its parameters, amended, and sent as they are. */

/** What a write gets in addition to what ElectroDB made of it. */
export interface Amendment {
  /** Further assignments, such as `#version = #version + :one`. */
  set?: string
  remove?: readonly string[]
  condition?: string
  names?: Record<string, string>
  values?: Item
}

/** The parameters of a write with amendments; conditions are joined by AND. */
export function amended(params: object, ...amendments: Amendment[]): Item {
  const out: Item = { ...params }
  const conditions = [out.ConditionExpression as string | undefined]
  const names = { ...(out.ExpressionAttributeNames as Record<string, string>) }
  const values = { ...(out.ExpressionAttributeValues as Item) }
  for (const { set, remove = [], condition, names: moreNames, values: moreValues } of amendments) {
    if (set) out.UpdateExpression = `${out.UpdateExpression}, ${set}`
    if (remove.length) out.UpdateExpression = `${out.UpdateExpression} REMOVE ${remove.map(n => `#${n}`).join(', ')}`
    for (const name of remove) names[`#${name}`] = name
    conditions.push(condition)
    Object.assign(names, moreNames)
    Object.assign(values, moreValues)
  }
  const condition = conditions.filter(Boolean).map(one => `(${one})`)
  out.ConditionExpression = condition.length ? condition.join(' AND ') : undefined
  out.ExpressionAttributeNames = Object.keys(names).length ? names : undefined
  out.ExpressionAttributeValues = Object.keys(values).length ? values : undefined
  return out
}

/** The amendment under which the named attributes are still what they were when the item was read. */
export function stillAs(item: object, names: readonly string[]): Amendment {
  const strange = names.filter(name => strangeType(item, name))
  const given = names.filter(name => (item as Item)[name] !== undefined && !strange.includes(name))
  const isAbsent = (name: string) => `attribute_not_exists(#${name})`
  const parts = names.map(name => {
    if (strange.includes(name)) return `NOT attribute_type(#${name}, :type_${name})`
    if (!given.includes(name)) return isAbsent(name)
    // Blank also stands for a required attribute that is not there.
    const isSame = `#${name} = :was_${name}`
    return (item as Item)[name] === '' ? `(${isAbsent(name)} OR ${isSame})` : isSame
  })
  return {
    condition: parts.join(' AND '),
    names: Object.fromEntries(names.map(name => [`#${name}`, name])),
    values: Object.fromEntries([
      ...given.map(name => [`:was_${name}`, (item as Item)[name]]),
      ...strange.map(name => [`:type_${name}`, strangeType(item, name)])
    ])
  }
}

/** Writes one item; tells whether its condition held, and the item as it was before or as it stands in the way. */
export async function attempt(
  dynamo: Dynamo,
  operation: 'UpdateItem' | 'DeleteItem',
  input: Item
): Promise<{ rejected: boolean; before?: Item }> {
  const conditional = input.ConditionExpression ? { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } : {}
  try {
    const { Attributes } = await dynamo.request(operation, { ...input, ...conditional })
    const before = Attributes as Item | undefined
    return { rejected: false, before: before && Object.keys(before).length ? before : undefined }
  } catch (error) {
    const failure = error as Error & { Item?: Attributes }
    if (failure.name !== 'ConditionalCheckFailedException') throw error
    return { rejected: true, before: failure.Item && unmarshal(failure.Item) }
  }
}

type WritePart = { ConditionCheck: Item } | { Update: Item } | { Put: Item } | { Delete: Item }

/** Writes all or nothing: `null` when committed, else what became of each part. */
export async function transact(dynamo: Dynamo, parts: WritePart[]): Promise<Part[] | null> {
  const TransactItems = parts.map(part =>
    Object.fromEntries(
      Object.entries(part).map(([kind, input]) => [kind, { ...input, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }])
    )
  )
  try {
    await dynamo.request('TransactWriteItems', { TransactItems })
    return null
  } catch (error) {
    const { CancellationReasons: reasons } = error as { CancellationReasons?: { Code?: string; Item?: Attributes }[] }
    if (!reasons?.some(({ Code }) => Code === 'ConditionalCheckFailed')) throw error
    return reasons.map(({ Code, Item }) => ({
      rejected: Code === 'ConditionalCheckFailed',
      item: Item ? unmarshal(Item) : null
    }))
  }
}
