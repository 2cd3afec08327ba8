import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from '../helpers.js'

/** How the stand-in treats a request. Whatever it does, an execution of a name is started at most once. */
export type Behaviour =
  | 'answer'
  /** Starts, and answers after a while. */
  | 'late'
  /** Starts, and answers two times over. */
  | 'twice'
  /** Starts, and cuts the connection. */
  | 'cut'
  /** Starts, and says nothing. */
  | 'silent'
  /** Starts, and answers that something went wrong. */
  | 'broken'
  /** Does not start, and says nothing until the connection is cut. */
  | 'held'
  | 'throttle'
  | 'refuse'
  | 'exists'

interface Execution {
  machine: string
  name: string
  input: string
  tenantId: string
  retryCount: number
  running: boolean
}

type Input = { stateMachineArn: string; name: string; input: string }

const account = 'eu-west-1:123456789012'
const machines = { CREATE: 'provision', UPDATE: 'update', DELETE: 'delete' }
const arnOf = (machine: string) => `arn:aws:states:${account}:stateMachine:${machine}`

/** Step Functions as far as StartExecution goes: checks what it is sent, and can be told to misbehave. */
export async function stepFunctionsStandIn(t: Test) {
  const executions = new Map<string, Execution>()
  const requests: Input[] = []
  const wrong: string[] = []
  const plan: Behaviour[] = []
  const open = new Set<ServerResponse>()

  function register({ stateMachineArn, name, input }: Input): string | undefined {
    const machine = stateMachineArn.split(':').at(-1) as string
    const execution = `arn:aws:states:${account}:execution:${machine}:${name}`
    const known = executions.get(execution)
    if (known) return known.running && known.input === input ? execution : undefined
    const { tenantId, retryCount } = JSON.parse(input)
    executions.set(execution, { machine, name, input, tenantId, retryCount, running: true })
    return execution
  }

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const body = await textOf(request)
    wrong.push(...mistakes(request, body))
    const input = JSON.parse(body) as Input
    requests.push(input)
    const behaviour = plan.shift() ?? 'answer'
    if (behaviour === 'held') return void open.add(response)
    if (behaviour === 'throttle') return refuse(response, 'ThrottlingException', 'Rate exceeded')
    if (behaviour === 'refuse') return refuse(response, 'StateMachineDoesNotExist', 'State machine does not exist')
    const executionArn = register(input)
    if (!executionArn || behaviour === 'exists') return refuse(response, 'ExecutionAlreadyExists', 'It exists')
    if (behaviour === 'silent') return void open.add(response)
    if (behaviour === 'cut') return void response.destroy()
    if (behaviour === 'broken') return refuse(response, 'InternalFailure', 'Something broke', 500)
    if (behaviour === 'late') await sleep(20)
    const text = JSON.stringify({ executionArn, startDate: 1_770_000_000 })
    const { socket } = response
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(text)
    if (behaviour === 'twice') {
      socket?.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
    }
  }

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    executions,
    requests,
    /** What was wrong with the requests that came. */
    wrong,
    /** The next requests are treated so, one each. */
    plan: (...next: Behaviour[]) => void plan.push(...next),
    of: (tenantId: string) => [...executions.values()].filter(execution => execution.tenantId === tenantId),
    /** The workflow ends without a word. */
    end(execution: string) {
      const known = executions.get(execution)
      if (!known) throw new Error(`no execution ${execution}`)
      known.running = false
    },
    /** Cuts the connections that wait for an answer. */
    cut() {
      for (const response of open) response.destroy()
      open.clear()
    },
    env: {
      PROVISION_STATE_MACHINE_ARN: arnOf(machines.CREATE),
      UPDATE_STATE_MACHINE_ARN: arnOf(machines.UPDATE),
      DELETE_STATE_MACHINE_ARN: arnOf(machines.DELETE),
      AWS_ENDPOINT_URL_SFN: `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function refuse(response: ServerResponse, type: string, message: string, status = 400): void {
  response
    .writeHead(status, { 'content-type': 'application/x-amz-json-1.0' })
    .end(JSON.stringify({ __type: type, message }))
}

/** What the real service would not take, or the contract does not say. */
function mistakes({ headers, method }: IncomingMessage, body: string): string[] {
  const { stateMachineArn, name, input, ...more } = JSON.parse(body) as Input
  const checks: Record<string, boolean> = {
    method: method === 'POST',
    target: headers['x-amz-target'] === 'AWSStepFunctions.StartExecution',
    type: headers['content-type'] === 'application/x-amz-json-1.0',
    signature: /\/eu-west-1\/states\/aws4_request/.test(headers.authorization ?? ''),
    members: Object.keys(more).length === 0,
    machine: Object.values(machines).some(machine => stateMachineArn === arnOf(machine)),
    name: /^[\w-]{1,80}$/.test(name),
    input: Object.keys(JSON.parse(input)).join() === 'tenantId,version,retryCount'
  }
  return Object.keys(checks).filter(check => !checks[check])
}
