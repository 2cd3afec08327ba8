import t from 'tap'
import { domains } from '../src/dynamo/tables.js'
import { serveMistyped } from './foreign-rounds.js'

for (const domain of domains) {
  t.test(`${domain}: attributes of any type are never our fault`, t => serveMistyped(t, domain, 2, 1))
}
