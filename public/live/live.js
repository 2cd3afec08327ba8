/** One socket, one state: what is set in one tab arrives in all others. */
const by = id => document.getElementById(id)
const MAX_LINES = 12
const MAX_WAIT_MS = 5000

const start = new URLSearchParams(location.search)
let socket
let since
let failures = 0
let token = ''
let timer

by('name').value = start.get('state') || 'demo'

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
  mine.onclose = () => {
    if (mine !== socket) return
    failures += 1
    // A page is not told why a socket was refused; a missing token is the likeliest reason.
    if (!wasOpen && failures > 1) by('login').hidden = false
    say('connecting', 'Not connected; trying again…')
    timer = setTimeout(connect, Math.min(250 * 2 ** failures, MAX_WAIT_MS))
  }
}

function send(message) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ ...message, name: by('name').value }))
}

function subscribe() {
  send(since === undefined ? { type: 'subscribe' } : { type: 'subscribe', since })
  const address = new URL(`/v1/states/${encodeURIComponent(by('name').value)}`, location.href)
  by('curl').textContent = `curl -X PUT ${address} -H 'content-type: application/json' -d '{"value": 42}'`
  by('again').href = `/live?state=${encodeURIComponent(by('name').value)}`
}

function receive(message) {
  if (message.type === 'error') return say('error', message.detail)
  if (message.type === 'ok') return say('live', 'Live')
  if (message.name !== by('name').value) return
  since = message.version
  const text = message.type === 'deleted' ? '–' : JSON.stringify(message.value)
  by('value').textContent = text
  if (typeof message.value === 'number' && document.activeElement !== by('slider')) by('slider').value = message.value
  const line = document.createElement('li')
  line.textContent = message.type === 'deleted' ? 'deleted' : `version ${message.version}: ${text.slice(0, 200)}`
  by('log').prepend(line)
  while (by('log').children.length > MAX_LINES) by('log').lastChild.remove()
}

function say(status, text) {
  by('status').dataset.status = status
  by('status').textContent = text
}

/** A slider speaks faster than a socket may: its newest value goes out, some twenty times a second. */
let isMoving = false
by('slider').addEventListener('input', () => {
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
let subscribed = by('name').value
by('name').addEventListener('change', () => {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'unsubscribe', name: subscribed }))
  subscribed = by('name').value
  since = undefined
  by('value').textContent = '–'
  by('log').replaceChildren()
  subscribe()
})
connect()
