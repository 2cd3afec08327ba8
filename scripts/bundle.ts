import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Bundles the Lambda handlers into dist/lambda, a file each, and says how large they are. */
const sources = new URL('../src/lambda/', import.meta.url)
const folder = new URL('../lambda/', import.meta.url)

const handlers = readdirSync(sources).filter(name => name.endsWith('.js'))
await build({
  entryPoints: handlers.map(name => fileURLToPath(new URL(name, sources))),
  outdir: fileURLToPath(folder),
  outExtension: { '.js': '.mjs' },
  bundle: true,
  minify: true,
  keepNames: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // Packages in CommonJS ask for Node's own modules with require, which an ES module has not.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  // The embedded engine and the documentation's page are loaded only where they are used, which is not on Lambda.
  plugins: [
    {
      name: 'not-on-lambda',
      setup: ({ onResolve }) =>
        onResolve({ filter: /(\/engine\/index\.js|^@fastify\/swagger-ui|^pg-native)$/ }, ({ path }) => ({
          path,
          external: true
        }))
    }
  ],
  legalComments: 'none',
  logLevel: 'warning'
})

const kilobytes = (bytes: Buffer) => `${Math.round(bytes.length / 1024)} KB`
for (const name of handlers.map(name => name.replace(/js$/, 'mjs'))) {
  const bundle = readFileSync(new URL(name, folder))
  console.log(`${name}: ${kilobytes(bundle)}, ${kilobytes(gzipSync(bundle))} compressed`)
}
