import type { Item } from './values.js'

type Path = string[]

interface UpdateParams {
  UpdateExpression: string
  ConditionExpression?: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: Item
}

const isObject = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value)

/** RFC 7396: what a merge patch makes of a value. */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(Object.entries(isObject(value) ? value : {}))
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name), change))
  }
  return Object.fromEntries(merged)
}

/**
 * Adds a merge patch of a map attribute to an update, path by path, so that DynamoDB merges without our reading first.
 * It demands that each object of the patch meets a map; where it does not, the condition fails and nothing changes.
 */
export function addMerge(params: UpdateParams, field: string, patch: Item) {
  const { sets, removes, maps } = pathsOf(patch, [field])
  const names: Record<string, string> = { ...params.ExpressionAttributeNames }
  const values: Item = { ...params.ExpressionAttributeValues, ':merge_map': 'M' }
  const placeholders = new Map<string, string>()
  const show = (path: Path) =>
    path
      .map(name => {
        const placeholder = placeholders.get(name) ?? `#merge_${placeholders.size}`
        placeholders.set(name, placeholder)
        names[placeholder] = name
        return placeholder
      })
      .join('.')
  const assignments = sets.map(([path, value], i) => {
    values[`:merge_${i}`] = value
    return `${show(path)} = :merge_${i}`
  })
  const areMaps = maps.map(path => `attribute_type(${show(path)}, :merge_map)`)
  return {
    ...params,
    UpdateExpression:
      [params.UpdateExpression, ...assignments].join(', ') +
      (removes.length ? ` REMOVE ${removes.map(show).join(', ')}` : ''),
    ConditionExpression: [params.ConditionExpression, ...areMaps].filter(Boolean).join(' AND '),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values
  }
}

function pathsOf(patch: Item, at: Path): { sets: [Path, unknown][]; removes: Path[]; maps: Path[] } {
  const out = { sets: [] as [Path, unknown][], removes: [] as Path[], maps: [at] }
  for (const [name, change] of Object.entries(patch)) {
    const path = [...at, name]
    if (change === null) out.removes.push(path)
    else if (isObject(change)) {
      const inner = pathsOf(change, path)
      out.sets.push(...inner.sets)
      out.removes.push(...inner.removes)
      out.maps.push(...inner.maps)
    } else out.sets.push([path, change])
  }
  return out
}
