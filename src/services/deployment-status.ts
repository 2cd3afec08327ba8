/** How far a deployment is. */
export const STATUSES = [
  'INITIALIZED',
  'CREATE_IN_PROGRESS',
  'CREATE_COMPLETE',
  'CREATE_FAILED',
  'FINISHED',
  'DESTROY_REQUESTED',
  'DESTROY_IN_PROGRESS',
  'DESTROY_FAILED'
] as const
export type Status = (typeof STATUSES)[number]

/** Where a deployment can go from each status. */
const moves: Record<Status, readonly Status[]> = {
  INITIALIZED: ['CREATE_IN_PROGRESS', 'CREATE_FAILED', 'FINISHED', 'DESTROY_REQUESTED'],
  CREATE_IN_PROGRESS: ['CREATE_COMPLETE', 'CREATE_FAILED', 'FINISHED'],
  CREATE_COMPLETE: ['FINISHED', 'CREATE_FAILED', 'DESTROY_REQUESTED'],
  CREATE_FAILED: ['DESTROY_REQUESTED', 'DESTROY_IN_PROGRESS'],
  FINISHED: ['DESTROY_REQUESTED', 'DESTROY_IN_PROGRESS'],
  DESTROY_FAILED: ['DESTROY_REQUESTED', 'DESTROY_IN_PROGRESS'],
  DESTROY_REQUESTED: ['DESTROY_IN_PROGRESS', 'DESTROY_FAILED'],
  DESTROY_IN_PROGRESS: ['DESTROY_FAILED']
}

/** The statuses from which a deployment may come to this one: events arrive twice, so this one is among them. */
export function sourcesOf(target: Status): Status[] {
  return STATUSES.filter(status => status === target || moves[status].includes(target))
}

/** The statuses of a deployment that nobody may point at any more. */
export const DESTROYING: readonly string[] = ['DESTROY_REQUESTED', 'DESTROY_IN_PROGRESS', 'DESTROY_FAILED']
