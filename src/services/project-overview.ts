import type { Dynamo } from '../dynamo/client.js'
import type { Item } from '../dynamo/values.js'
import { isMetadata, type ProjectEntities } from '../entities/projects.js'

/** A part of a project's overview: first come the targets, then the tokens. */
export interface OverviewPart {
  project: { name: string; repository: string }
  targets: { name: string; type: string; properties: Item }[]
  tokens: { tokenId: string; createdAt: string; expiresAt: string; active: boolean }[]
  isLast: boolean
  /** Whether one page of the database holds everything. */
  isOnePage: boolean
}

/** How a project's items are shown; a project that is not there for callers is refused. */
interface Present {
  project(name: string, item: unknown): OverviewPart['project']
  target(item: never): OverviewPart['targets'][number]
  token(item: never): OverviewPart['tokens'][number]
}

interface Page {
  Items: { pk: string; sk: string }[]
  LastEvaluatedKey?: Item
}

/** What is made of items at a time, so that the first of a page can be sent before the last is read. */
const AT_ONCE = 100

/** Reads everything of a project by one query of its partition, a page at a time. */
export function projectOverview(dynamo: Dynamo, { entities, collections }: ProjectEntities, present: Present) {
  const read = <T>(entity: { parse(input: never, options: object): { data: unknown } }, Items: Item[]) =>
    entity.parse({ Items } as never, { data: 'attributes' }).data as T[]

  return async function* readProjectOverview(name: string): AsyncGenerator<OverviewPart, void> {
    const query = collections.overview({ project: name }).params() as Item
    let project: OverviewPart['project'] | undefined
    let ExclusiveStartKey: Item | undefined
    do {
      const isFirst = ExclusiveStartKey === undefined
      const { Items, LastEvaluatedKey } = (await dynamo.request('Query', {
        ...query,
        ExclusiveStartKey
      })) as never as Page
      ExclusiveStartKey = LastEvaluatedKey
      const isEnd = LastEvaluatedKey === undefined
      const metadata = Items.find(isMetadata)
      // Only items of other programs come before the project's own.
      if (!project && !metadata && !isEnd) continue
      project ??= present.project(name, metadata && read(entities.project, [metadata])[0])
      do {
        const some = Items.splice(0, AT_ONCE)
        yield {
          project,
          targets: read<never>(entities.target, some).map(present.target),
          tokens: read<never>(entities.token, some).map(present.token),
          isLast: isEnd && Items.length === 0,
          isOnePage: isFirst && isEnd
        }
      } while (Items.length > 0)
    } while (ExclusiveStartKey)
  }
}
