import type { Dynamo } from '../dynamo/client.js'
import { unchanged } from '../dynamo/conditions.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { addMerge, mergePatch } from '../dynamo/merge.js'
import { commit, readTogether } from '../dynamo/transact.js'
import { type Attributes, type Item, unmarshal } from '../dynamo/values.js'
import { IS_LIVE, IS_THERE, type ProjectEntities } from '../entities/projects.js'
import { assertMatch } from '../etag.js'
import { invalid, Problem } from '../problems.js'
import { AWS_ACCOUNT, assertCredentialTypeKept, assertTarget, awsAccountErrors } from './aws-account.js'
import type { Preconditions, ServiceContext } from './context.js'
import { fromText } from './json-text.js'

export interface TargetContent {
  type: string
  properties: Item
}

interface StoredTarget {
  name: string
  type: string
  properties: unknown
}

const MAX_TRIES = 8
/** DynamoDB's limit for an expression. A merge that would be longer happens here. */
const MAX_EXPRESSION = 4096
const MAX_KNOWN = 10_000
const NEW_NAME = /^[A-Za-z][A-Za-z0-9_]{3,31}$/

/** The condition that an account's credential type, where it has one, is the one that is compared. */
const keeping = (isSame: string) => `(attribute_not_exists(properties.credential_type) OR ${isSame})`

export const projectNotFound = (name: string) => new Problem('project-not-found', `There is no project ${name}`)
const targetNotFound = (name: string) => new Problem('target-not-found', `There is no target ${name} in this project`)

/** The actions on a project's targets. */
export function targetActions(
  dynamo: Dynamo,
  entities: ProjectEntities,
  { cursors }: ServiceContext,
  findProject: (name: string) => Promise<unknown>
) {
  const { target } = entities.entities
  /** Targets that we have seen: a hint which of two writes to try first. Both decide for themselves. */
  const known = new Set<string>()
  const remember = (project: string, name: string) => {
    if (known.size >= MAX_KNOWN) known.clear()
    known.add(`${project}#${name}`)
  }

  /** Others may have stored the properties as JSON text. */
  const present = ({ name, type, properties }: StoredTarget) => ({ name, type, properties: fromText(properties ?? {}) })
  const stillSo = (seen: StoredTarget) => unchanged(['type', 'properties'], { ...seen })

  async function listTargets(project: string, request: PageRequest) {
    const [page] = await Promise.all([
      readPage(cursors, ['targets', project], request, options => target.query.byProject({ project }).go(options)),
      findProject(project)
    ])
    return { ...page, items: page.items.map(item => present(item as StoredTarget)) }
  }

  async function findTarget(project: string, name: string): Promise<StoredTarget> {
    const [owner, item] = await readTogether(
      entities.transaction.get(({ project: projects, target }) => [
        projects.get({ project }).commit(),
        target.get({ project, name }).commit()
      ])
    )
    if (!owner || (owner as { deleting?: unknown }).deleting !== undefined) throw projectNotFound(project)
    if (!item) throw targetNotFound(name)
    remember(project, name)
    return item as StoredTarget
  }

  async function getTarget(project: string, name: string) {
    return present(await findTarget(project, name))
  }

  /** What is not there is 404, whatever If-Match says. */
  async function findMatching(project: string, name: string, ifMatch: string | undefined) {
    if (ifMatch === undefined) return undefined
    const seen = await findTarget(project, name)
    assertMatch(ifMatch, present(seen))
    return seen
  }

  /** Adds the target under a project that is there; false if the target exists. */
  async function add(project: string, name: string, content: TargetContent): Promise<boolean> {
    if (!NEW_NAME.test(name)) throw invalid('params/target', `must match pattern "${NEW_NAME.source}"`)
    const cancelled = await commit(
      entities.transaction.write(({ project: projects, target }) => [
        projects
          .check({ project })
          .where(() => IS_LIVE)
          .commit(),
        target.create({ project, name, ...content }).commit()
      ])
    )
    if (cancelled?.[0]?.rejected) throw projectNotFound(project)
    return cancelled === null
  }

  /** Replaces a target that exists, keeping attributes that we do not know; false if there is none, or another than was seen. */
  async function replace(project: string, name: string, content: TargetContent, seen?: StoredTarget): Promise<boolean> {
    if (seen) assertCredentialTypeKept(present(seen), content)
    const { rejected, data } = await target
      .patch({ project, name })
      .set(content)
      .where((attr, op) => {
        if (seen) return stillSo(seen)(attr, op)
        const isSame = op.eq(attr.properties.credential_type, content.properties.credential_type ?? null)
        // DynamoDB cannot look into properties that are text.
        const isKept = `(${op.type(attr.properties, 'M')} AND ${keeping(isSame)})`
        return `(NOT ${op.eq(attr.type, AWS_ACCOUNT)} OR ${isKept})`
      })
      .go({ returnOnConditionCheckFailure: 'all_old' })
    if (rejected && data && !seen) return replace(project, name, content, data as StoredTarget)
    return !rejected
  }

  async function putTarget(project: string, name: string, content: TargetContent, demands: Preconditions = {}) {
    assertTarget(content)
    const answer = (created: boolean) => {
      remember(project, name)
      return { created, target: { name, ...content } }
    }
    const seen = await findMatching(project, name, demands.ifMatch).catch(error => {
      // It would be added, were it not for If-Match.
      throw error instanceof Problem && error.code === 'target-not-found' ? new Problem('precondition-failed') : error
    })
    if (seen) {
      if (await replace(project, name, content, seen)) return answer(false)
      throw new Problem('precondition-failed')
    }
    if (demands.ifNoneMatch !== undefined) {
      if (await add(project, name, content)) return answer(true)
      throw new Problem('precondition-failed')
    }
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      // Other programs gave targets other names, under which we add none.
      if (known.delete(`${project}#${name}`) || (attempt === 0 && !NEW_NAME.test(name))) {
        if (await replace(project, name, content)) return answer(false)
      } else if (await add(project, name, content)) return answer(true)
      else remember(project, name)
    }
    throw new Problem('concurrent-changes')
  }

  /** RFC 7396 on the properties: in one write where DynamoDB can merge, else on the image that it gave back. */
  async function updateTarget(
    project: string,
    name: string,
    change: Partial<TargetContent>,
    { ifMatch }: Preconditions = {}
  ) {
    if (change.type === AWS_ACCOUNT) assertTarget({ type: AWS_ACCOUNT, properties: change.properties ?? {} }, 'partial')
    let seen = await findMatching(project, name, ifMatch)
    if (ifMatch === undefined) {
      const merged = await mergeInPlace(project, name, change)
      if (merged.target) return merged.target
      seen = merged.image
    }
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      seen ??= await findTarget(project, name)
      const before = present(seen)
      const after = {
        type: change.type ?? before.type,
        properties: mergePatch(before.properties, change.properties ?? {}) as Item
      }
      assertTarget(after)
      assertCredentialTypeKept(before, after)
      const { rejected, data } = await target
        .patch({ project, name })
        .set(after)
        .where(stillSo(seen))
        .go({ response: 'all_new', returnOnConditionCheckFailure: true })
      if (!rejected) return present(data as StoredTarget)
      if (ifMatch !== undefined) throw new Problem('precondition-failed')
      seen = undefined
    }
    throw new Problem('concurrent-changes')
  }

  async function mergeInPlace(project: string, name: string, { type, properties = {} }: Partial<TargetContent>) {
    const suitsAws = (type ?? AWS_ACCOUNT) === AWS_ACCOUNT && awsAccountErrors(properties, 'partial').length === 0
    const params = target
      .patch({ project, name })
      .set(type === undefined ? {} : { type })
      .where((attr, op) => {
        const isAccount = op.eq(attr.type, AWS_ACCOUNT)
        if (!suitsAws) return `NOT ${isAccount}`
        const { credential_type: wanted } = properties
        const isKept = wanted === undefined ? IS_THERE : keeping(op.eq(attr.properties.credential_type, wanted))
        return type === undefined ? `(NOT ${isAccount} OR ${isKept})` : `${isAccount} AND ${isKept}`
      })
      .params({ response: 'all_new' }) as Parameters<typeof addMerge>[0]
    const update = { ...addMerge(params, 'properties', properties), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
    if (Math.max(update.UpdateExpression.length, update.ConditionExpression.length) > MAX_EXPRESSION) return {}
    try {
      const { Attributes } = await dynamo.request('UpdateItem', update)
      return { target: present(parsed(Attributes as Item)) }
    } catch (error) {
      const failure = error as Error & { Item?: Attributes }
      if (failure.name !== 'ConditionalCheckFailedException') throw error
      return { image: failure.Item && parsed(unmarshal(failure.Item)) }
    }
  }

  const parsed = (item: Item) => target.parse({ Item: item as never }).data as StoredTarget

  async function deleteTarget(project: string, name: string, { ifMatch }: Preconditions = {}) {
    const seen = await findMatching(project, name, ifMatch)
    const cancelled = await commit(
      entities.transaction.write(({ project: projects, target }) => [
        projects
          .check({ project })
          .where(() => IS_LIVE)
          .commit(),
        target
          .remove({ project, name })
          .where((attr, op) => (seen ? stillSo(seen)(attr, op) : IS_THERE))
          .commit()
      ])
    )
    known.delete(`${project}#${name}`)
    if (!cancelled) return
    if (cancelled[0]?.rejected) throw projectNotFound(project)
    throw seen ? new Problem('precondition-failed') : targetNotFound(name)
  }

  return { present, listTargets, getTarget, putTarget, updateTarget, deleteTarget }
}
