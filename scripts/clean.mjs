// Removes what an earlier build left, so that no test of a deleted file runs on.
import { rmSync } from 'node:fs'

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
