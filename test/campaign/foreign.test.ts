import t from 'tap'
import { domains } from '../../src/dynamo/tables.js'
import { serveMistyped } from '../foreign-rounds.js'

for (const domain of domains) t.test(domain, t => serveMistyped(t, domain, 8, 2))
