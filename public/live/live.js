/** One socket, one state: what is set in one tab arrives in all others. */
const by = id => document.getElementById(id)
const MAX_LINES = 12
const MAX_WAIT_MS = 5000
/** A slider that was moved just now is in someone's hand. */
const HELD_MS = 500
const LONG = 40

const start = new URLSearchParams(location.search)
let socket
/** The version that the page has, and when it was written. */
let has
let failures = 0
let token = ''
let needsToken = false
let timer

by('name').value = start.get('state') || 'demo'
let name = by('name').value

function protocols() {
  if (!token) return ['quintet']
  const bytes = String.fromCharCode(...new TextEncoder().encode(token))
  return ['quintet', `bearer64.${btoa(bytes).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')}`]
}

function connect() {
  clearTimeout(timer)
  const url = new URL('/v1/live', location.href)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const mine = new WebSocket(url, protocols())
  socket = mine
  let wasOpen = false
  mine.onopen = () => {
    wasOpen = true
    failures = 0
    by('login').hidden = true
    subscribe()
  }
  mine.onmessage = ({ data }) => receive(JSON.parse(data))
  mine.onclose = async () => {
    if (mine !== socket) return
    failures += 1
    say('connecting', 'Not connected; trying again…')
    if (!wasOpen && (await wantsToken())) return ask()
    if (mine === socket) timer = setTimeout(connect, Math.min(250 * 2 ** failures, MAX_WAIT_MS))
  }
}

/** A page is not told why a socket was refused; the same address without one says it. */
async function wantsToken() {
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  try {
    return (await fetch('/v1/live', { headers })).status === 401
  } catch {
    return false
  }
}

function ask() {
  say('error', token ? 'The server does not know this token.' : 'This server wants a token: its ADMIN_TOKEN.')
  needsToken = true
  explain()
  by('login').hidden = false
  by('token').focus()
}

function send(message) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ ...message, name }))
}

function subscribe() {
  send({ type: 'subscribe', ...has })
}

/** How to do the same without the page. */
function explain() {
  const address = new URL(`/v1/states/${encodeURIComponent(name)}`, location.href)
  const auth = needsToken ? ' -H "Authorization: Bearer $ADMIN_TOKEN"' : ''
  by('curl').textContent = `curl -X PUT ${address}${auth} -H 'content-type: application/json' -d '{"value": 42}'`
  by('again').href = `/live?state=${encodeURIComponent(name)}`
}

function receive(message) {
  if (message.type === 'error') return say('error', message.detail)
  if (message.type === 'ok') return say('live', 'Live')
  if (message.name !== name) return
  const { type, value, version: since, updatedAt } = message
  has = type === 'deleted' ? undefined : { since, updatedAt }
  show(type === 'deleted' ? undefined : JSON.stringify(value))
  if (typeof value === 'number' && Date.now() - movedAt > HELD_MS) by('slider').value = value
  const line = document.createElement('li')
  line.textContent = type === 'deleted' ? 'deleted' : `version ${since}: ${JSON.stringify(value).slice(0, 200)}`
  by('log').prepend(line)
  while (by('log').children.length > MAX_LINES) by('log').lastChild.remove()
}

function show(text) {
  by('value').textContent = text ?? 'no value yet'
  by('value').className = text === undefined ? 'none' : text.length > LONG ? 'long' : ''
}

function say(status, text) {
  by('status').dataset.status = status
  by('status').textContent = text
}

/** A slider speaks faster than a socket may: its newest value goes out, some twenty times a second. */
let isMoving = false
let movedAt = 0
by('slider').addEventListener('input', () => {
  movedAt = Date.now()
  if (isMoving) return
  isMoving = true
  setTimeout(() => {
    isMoving = false
    send({ type: 'set', value: Number(by('slider').value) })
  }, 50)
})
by('form').addEventListener('submit', event => {
  event.preventDefault()
  try {
    send({ type: 'set', value: JSON.parse(by('json').value) })
  } catch {
    say('error', 'That is not JSON; text needs quotes.')
  }
})
by('login').addEventListener('submit', event => {
  event.preventDefault()
  token = by('token').value
  connect()
})
by('name').addEventListener('change', () => {
  if (!by('name').reportValidity()) return
  send({ type: 'unsubscribe' })
  name = by('name').value
  has = undefined
  show()
  by('log').replaceChildren()
  explain()
  subscribe()
})
show()
explain()
connect()
