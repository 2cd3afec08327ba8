import type { Dynamo } from '../dynamo/client.js'
import { type PageRequest, readPage } from '../dynamo/cursors.js'
import { strangenessOf } from '../dynamo/declared.js'
import type { Item } from '../dynamo/values.js'
import { type Amendment, amended, stillAs, transact } from '../dynamo/write.js'
import { byEmailOnly, lifeAt, type RealtimeEntities } from '../entities/realtime.js'
import { assertMatch } from '../etag.js'
import { Problem } from '../problems.js'
import type { Preconditions, ServiceContext } from './context.js'
import { assertFuture, secondsOf } from './ttl.js'

export interface UserView {
  userId: string
  email: string
  ttl?: number
}

/** What a writer believes to find; the conditions of the write decide. */
interface Belief {
  /** The user as stored; nothing if there is none. */
  seen?: UserView
  /** Who claimed the email once and has it no more. */
  leftBy?: string
  /** The claim on the email before is another's, and stays. */
  keepsOld?: boolean
}

const MAX_TRIES = 8
const MAX_KNOWN = 10_000

const userNotFound = (id: string) => new Problem('user-not-found', `There is no user ${id}`)
const emailTaken = (email: string) => new Problem('email-taken', `${email} belongs to another user`)

/**
 * The actions on users. An email is one user's: the claim on it moves in the same transaction as the user. Users whom
 * others wrote have no claim and are found by the index.
 */
export function userActions(dynamo: Dynamo, { entities }: RealtimeEntities, { cursors, now }: ServiceContext) {
  const { user, claim } = entities
  /** Users that we have seen: a hint what to expect. The conditions of the write decide. */
  const known = new Map<string, UserView>()
  const remember = (item: UserView) => {
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(item.userId, item)
  }
  const present = (item: UserView): UserView => ({
    userId: item.userId,
    email: item.email,
    ttl: item.ttl,
    ...strangenessOf(item)
  })
  const parse = (image: Item | null | undefined) => {
    const data = image ? user.parse({ Item: image as never }).data : null
    return data ? present(data as UserView) : undefined
  }

  async function findUser(userId: string): Promise<UserView | undefined> {
    const { data } = await user.get({ userId }).go({ consistent: true })
    if (!data) return undefined
    remember(data as UserView)
    return present(data as UserView)
  }

  async function getUser(userId: string): Promise<UserView> {
    const found = await findUser(userId)
    if (!found) throw userNotFound(userId)
    return found
  }

  async function holderOf(email: string): Promise<UserView | undefined> {
    const query = byEmailOnly(user.query.byEmail({ email }).params() as Item)
    const { Items } = await dynamo.request('Query', query)
    const [first] = user.parse({ Items: Items as never }).data as UserView[]
    return first && present(first)
  }

  async function findUsersByEmail(email: string, request: PageRequest) {
    return readPage(cursors, ['users by email', email], request, async () => {
      const holder = await holderOf(email)
      return { data: holder ? [holder] : [], cursor: null }
    })
  }

  async function putUser(
    userId: string,
    { email, ttl }: { email: string; ttl?: number },
    { ifMatch, ifNoneMatch }: Preconditions = {}
  ) {
    assertFuture(ttl, now)
    const demandsSeen = ifMatch !== undefined || ifNoneMatch !== undefined
    let seen = ifMatch === undefined ? known.get(userId) : await findUser(userId)
    if (ifMatch !== undefined) assertMatch(ifMatch, seen)
    if (ifNoneMatch !== undefined) seen = undefined
    const holder = await holderOf(email)
    if (holder && holder.userId !== userId) throw emailTaken(email)
    if (!demandsSeen && holder) seen = holder

    const item = { userId, email, ttl }
    const belief: Belief = { seen }
    for (let attempts = 0; attempts < MAX_TRIES; attempts++) {
      const cancelled = await write(item, belief)
      if (!cancelled) {
        remember(item)
        return { created: belief.seen === undefined, user: item }
      }
      if (cancelled.left?.rejected) throw emailTaken(email)
      if (cancelled.self?.rejected && demandsSeen) throw new Problem('precondition-failed')
      if (cancelled.self?.rejected) belief.seen = parse(cancelled.self.item)
      if (cancelled.claimed?.rejected) belief.leftBy = cancelled.claimed.item?.userId as string | undefined
      belief.keepsOld = cancelled.released?.rejected
    }
    throw new Problem('concurrent-changes')
  }

  /** The user, the claim on the email, and the release of the one before, or nothing of it. */
  async function write(item: UserView, { seen, leftBy, keepsOld }: Belief) {
    const { userId, email, ttl } = item
    const { isLive, isGone, ...life } = lifeAt(secondsOf(now))
    const remove = ttl === undefined ? ['ttl'] : []
    const self: Amendment[] = seen
      ? [{ condition: isLive, ...life }, stillAs(seen, ['email', 'ttl'])]
      : [{ condition: isGone, ...life }]
    const claiming: Amendment = {
      remove,
      condition: `${isGone} OR #owner = :user${leftBy === undefined ? '' : ' OR #owner = :left'}`,
      names: { ...life.names, '#owner': 'userId' },
      values: { ...life.values, ':user': userId, ...(leftBy === undefined ? {} : { ':left': leftBy }) }
    }
    const releases = seen !== undefined && seen.email !== '' && seen.email !== email && !keepsOld
    const parts = await transact(dynamo, [
      { Update: amended(user.upsert(item).params(), { remove }, ...self) },
      { Update: amended(claim.upsert(item).params(), claiming) },
      ...(leftBy === undefined ? [] : [{ ConditionCheck: hasLeft(leftBy, email) }]),
      ...(releases ? [{ Delete: release(seen.email, userId) }] : [])
    ])
    if (!parts) return null
    const [own, claimed, ...others] = parts
    const left = leftBy === undefined ? undefined : others[0]
    return { self: own, claimed, left, released: releases ? others.at(-1) : undefined }
  }

  /** The check that a user who once claimed the email is gone or has another one now. */
  function hasLeft(userId: string, email: string): Item {
    const { isGone, names, values } = lifeAt(secondsOf(now))
    return amended(user.get({ userId }).params(), {
      condition: `${isGone} OR NOT #email = :email`,
      names: { ...names, '#email': 'email' },
      values: { ...values, ':email': email }
    })
  }

  /** The end of a user's own claim; a claim that is not there, or another's, stays as it is. */
  function release(email: string, userId: string): Item {
    return amended(claim.delete({ email }).params(), {
      condition: 'attribute_not_exists(pk) OR #owner = :user',
      names: { '#owner': 'userId' },
      values: { ':user': userId }
    })
  }

  async function deleteUser(userId: string, { ifMatch }: Preconditions = {}): Promise<void> {
    for (let attempts = 0; attempts < MAX_TRIES; attempts++) {
      const seen = await getUser(userId)
      if (ifMatch !== undefined) assertMatch(ifMatch, seen)
      const { isLive, isGone: _, ...life } = lifeAt(secondsOf(now))
      const stays = [{ condition: isLive, ...life }, stillAs(seen, ['email', 'ttl'])]
      const cancelled = await transact(dynamo, [
        { Delete: amended(user.delete({ userId }).params(), ...stays) },
        ...(seen.email === '' ? [] : [{ Delete: release(seen.email, userId) }])
      ])
      known.delete(userId)
      if (!cancelled) return
      // The claim is another's: the user goes without it.
      if (!cancelled[0]?.rejected && (await removeAlone(userId, stays))) return
    }
    throw new Problem('concurrent-changes')
  }

  async function removeAlone(userId: string, stays: Amendment[]): Promise<boolean> {
    return !(await transact(dynamo, [{ Delete: amended(user.delete({ userId }).params(), ...stays) }]))
  }

  return { getUser, findUsersByEmail, putUser, deleteUser }
}
