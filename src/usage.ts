import { parseArgs } from 'node:util'

/** Words on the command line that make no sense; the usage is shown. */
export class WrongUsage extends Error {}

type Options = NonNullable<Parameters<typeof parseArgs>[0]>['options']

/** The options among a command's words, and the rest of them where it may have any. */
export function parseWords<const O extends NonNullable<Options>>(args: string[], options: O, allowPositionals = false) {
  try {
    return parseArgs({ args, options, allowPositionals })
  } catch (error) {
    throw new WrongUsage((error as Error).message)
  }
}
