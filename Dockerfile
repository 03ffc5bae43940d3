# A tag, or an image by its digest: --build-arg NODE_IMAGE=node@sha256:...
ARG NODE_IMAGE=node:24-bookworm-slim

# Build stage: npm and the compiler; not part of the final image.
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without install scripts of packages; the build is below.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY workers ./workers
# Only the program: scripts and benchmarks need files that are not copied.
RUN npx --no-install tsc -p tsconfig.build.json
# What the program needs stays, with the packages of the ops server, which are optional for an application.
RUN npm pkg delete devDependencies peerDependenciesMeta && npm prune --ignore-scripts --offline
# What the image contains of npm, with hashes and licences; read from what is installed.
RUN npm sbom --sbom-format cyclonedx --sbom-type application >sbom.cdx.json

# Runtime stage: the compiled program and its dependencies, owned by root, run by `node`.
FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/sbom.cdx.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
COPY --from=build /app/dist/workers ./dist/workers
# Files for browsers, which need no build, and the runbook that is a page.
COPY --from=build /app/src/ops/web/assets ./src/ops/web/assets
COPY docs/operating.md ./docs/operating.md
USER node
# A worker stops taking jobs, finishes the requests in flight, and exits (after at most 40 s).
STOPSIGNAL SIGTERM
# Healthy while a worker process of this host has a current heartbeat in Redis.
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s --retries=3 \
  CMD node dist/src/cli/main.js status --worker "$(hostname)"
ENTRYPOINT ["node", "dist/src/cli/main.js"]
CMD ["worker"]
