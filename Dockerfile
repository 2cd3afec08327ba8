# syntax=docker/dockerfile:1

# Compiles, then leaves only what runs.
FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src ./src
RUN npx tsc && npm prune --omit=dev --ignore-scripts

FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
COPY --from=build /app/package.json /app/package.json
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/dist/src /app/dist/src
COPY public /app/public
# The embedded engine keeps its folder here; nothing else is written, so that the root file system can be read-only.
RUN mkdir /data && chown node:node /data
VOLUME /data
WORKDIR /data
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node itself is process 1 and gets SIGTERM: it finishes what is under way and exits with 0.
CMD ["node", "/app/dist/src/server.js"]
