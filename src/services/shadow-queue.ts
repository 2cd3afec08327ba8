import { setTimeout as sleep } from 'node:timers/promises'

type Job = () => Promise<void>

interface Settings {
  /** More than this many jobs are not held; the next one is refused. */
  limit: number
  atOnce: number
  /** Told how many more, or fewer, there are. */
  pending(change: number): void
}

/**
 * Work that no request waits for. The jobs of one project run one after the other, those of several side by side. A
 * job must not throw.
 */
export function shadowQueue({ limit, atOnce, pending }: Settings) {
  /** The jobs of each project, the running one first. */
  const lanes = new Map<string, Job[]>()
  const ready: string[] = []
  /** However many wait for a project, it is one promise. */
  const waiting = new Map<string, { done: Promise<void>; wake: () => void }>()
  let running = 0
  let size = 0

  /** False if there is no room. */
  function add(project: string, job: Job): boolean {
    if (size >= limit) return false
    size += 1
    pending(1)
    const lane = lanes.get(project)
    if (lane) lane.push(job)
    else {
      lanes.set(project, [job])
      ready.push(project)
      work()
    }
    return true
  }

  function work(): void {
    while (running < atOnce) {
      const project = ready.shift()
      const lane = project === undefined ? undefined : lanes.get(project)
      if (project === undefined || !lane) return
      running += 1
      void run(project, lane)
    }
  }

  async function run(project: string, lane: Job[]): Promise<void> {
    await lane[0]?.()
    lane.shift()
    size -= 1
    pending(-1)
    running -= 1
    if (lane.length > 0) ready.push(project)
    else {
      lanes.delete(project)
      waiting.get(project)?.wake()
      waiting.delete(project)
    }
    work()
  }

  /** Waits for what is pending of a project, though not for long. */
  async function settled(project: string, ms: number): Promise<void> {
    if (!lanes.has(project)) return
    if (!waiting.has(project)) waiting.set(project, promised())
    await Promise.race([waiting.get(project)?.done, sleep(ms, undefined, { ref: false })])
  }

  /** Finishes what is pending within a time; gives the projects of the jobs that are left undone, one for each. */
  async function close(ms: number): Promise<string[]> {
    const end = Date.now() + ms
    while (size > 0 && Date.now() < end) await sleep(10)
    const left = Array.from(lanes, ([project, lane]) => lane.map(() => project)).flat()
    lanes.clear()
    ready.length = 0
    return left
  }

  return { add, settled, close }
}

function promised() {
  let wake = () => {}
  const done = new Promise<void>(resolve => {
    wake = resolve
  })
  return { done, wake }
}
