// Loaded into every server that is measured: tells how much CPU time the process has used, in microseconds, and its memory in bytes.
process.on('message', message => {
  if (message !== 'cpu') return
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system, rss: process.memoryUsage.rss(), peak: process.resourceUsage().maxRSS * 1024 })
})
process.on('disconnect', () => process.exit())
