# Build: everything that npm and the compiler need, none of which is shipped.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No install script of another package runs; our own build comes below.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY workers ./workers
COPY scripts ./scripts
RUN npm run --silent build && npm prune --omit=dev

# Runtime: the compiled program and its dependencies, owned by root, run by `node`.
FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
COPY --from=build /app/dist/workers ./dist/workers
# What browsers load; no build step changes it.
COPY --from=build /app/src/ops/web/assets ./src/ops/web/assets
USER node
# A worker stops fetching, lets what is being sent finish, and ends (SHUTDOWN_TIMEOUT_MS).
STOPSIGNAL SIGTERM
# Healthy while a worker process of this host has a live heartbeat in Redis.
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s --retries=3 \
  CMD node dist/src/cli/main.js status --worker "$(hostname)"
ENTRYPOINT ["node", "dist/src/cli/main.js"]
CMD ["worker"]
