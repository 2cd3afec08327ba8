// Loaded into every server that is measured: tells how much CPU time the process has used, in microseconds, and its memory.
process.on('message', message => {
  if (message !== 'cpu') return
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system, rss: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())
