#!/usr/bin/env bash
# Builds the image and brings docker-compose.yml up with its emulator profile, two workers and new secrets, sends
# a list from a third container, and reads from the emulator's own record that each contact was
# accepted once, with one token. All of it in a copy of the checkout in which secrets, a list of contacts and
# variables lie where users have them: none of them may be in a layer of
# the image, or in what the containers show and log. Takes everything down again, volumes included. Needs a Docker engine and docker-compose; the
# engine's name for `docker compose` may be given as COMPOSE.
set -euo pipefail
cd "$(dirname "$0")/.."
checkout_of_this=$PWD

contacts=20
# What the image may add to its base.
most_mb=150
control_key=compose-smoke-control-key
compose=${COMPOSE:-docker-compose}

# A project name of its own, so that it does not collide with others on the same engine.
export COMPOSE_PROJECT_NAME="notice-queue-smoke-$$"
export NOTICES_IMAGE="$COMPOSE_PROJECT_NAME"
# One job and one request for each contact, so that both workers get some and requests can be counted.
export CHUNK_SIZE=1
COMPOSE_SMOKE=$(mktemp -d)
checkout="$COMPOSE_SMOKE/checkout"
left="$COMPOSE_SMOKE/left"
mkdir "$checkout" "$left"
export SECRETS_FOLDER="$checkout/secrets"
export COMPOSE_PROFILES=emulator
export EMULATOR_CONTROL_KEY="$control_key"
EMULATOR_PORT=$(node --eval 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
export EMULATOR_PORT

why=''
# fail WHY: prints the reason again below the logs, where readers see it first.
fail() {
  why=$1
  exit 1
}

down() {
  status=$?
  trap - EXIT
  [ "$status" -eq 0 ] || $compose logs --no-color --tail=40 || true
  $compose down --volumes --remove-orphans --timeout 20 || true
  docker image rm --force "$NOTICES_IMAGE" >/dev/null || true
  rm -rf "$COMPOSE_SMOKE"
  [ "$status" -eq 0 ] || echo "failed: ${why:-a command ended with $status, see above the logs}" >&2
  exit "$status"
}
trap down EXIT
trap 'exit 130' INT TERM

# until SECONDS WHAT COMMAND...: tries a command again until it succeeds.
until_true() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "waited in vain for $what"
    sleep 0.5
  done
}

# record FIELD...: numbers of the emulator's record, separated by blanks.
record() {
  node --input-type=module --eval '
    const [port, key, ...fields] = process.argv.slice(1);
    const answer = await fetch(`http://127.0.0.1:${port}/control/record`, { headers: { "X-Control-Key": key } });
    const record = await answer.json();
    console.log(fields.map((field) => field.split(".").reduce((at, name) => at[name], record)).join(" "));
  ' -- "$EMULATOR_PORT" "$control_key" "$@" 2>/dev/null
}

healthy_workers() {
  local count=0 id
  for id in $($compose ps -q emulator-worker); do
    [ "$(docker inspect --format '{{.State.Health.Status}}' "$id")" != healthy ] || count=$((count + 1))
  done
  echo "$count"
}
emulator_answers() { [ -n "$(record contacts)" ]; }
workers_are_healthy() { [ "$(healthy_workers)" = 2 ]; }
all_accepted() { [ "$(record contacts)" = "$contacts" ]; }

# plant: a copy of the checkout in which secrets, contacts and values lie where users have them.
plant() {
  git ls-files -z --cached --others --exclude-standard |
    xargs -0 cp --parents --target-directory="$checkout"
  cd "$checkout"
  local name number
  random() { head -c 24 /dev/urandom | base64; }
  for name in ACCESS_KEY SECRET_KEY REDIS_PASSWORD PAYLOAD_KEY FIND_KEY EVENT_WEBHOOK_SECRET \
    OPS_SESSION_KEY NPM_TOKEN; do
    printf "%s='canary/%s'\n" "$name" "$(random)"
  done >.env
  # A password with characters that each form escapes in its own way.
  echo "PROXY_URL='http://kim:canary-%2F&\"<Kim>@proxy.example.test:3128'" >>.env
  set -a
  # shellcheck disable=SC1091 # written above
  . ./.env
  set +a
  printf '//packages.example.test/:_authToken=canary/%s\n' "$(random)" >>.npmrc
  for number in $(seq "$contacts"); do
    printf '0100739%04d,canary "Kim" & 카나리아 <b> 100%%\n' "$((1840 + number * 7))"
  done >list.csv
  # Also in folders that the build stage copies.
  cp .env list.csv src
  cp .env list.csv workers
  mkdir secrets
  for name in access_key secret_key proxy_url ops_api_keys; do
    printf 'canary/%s\n' "$(random)" >"secrets/$name"
  done
  deploy/make-secrets.sh secrets
}

# leave NAME COMMAND...: keeps what a command shows, for the search.
leave() {
  local name=$1
  shift
  "$@" >"$left/$name" 2>&1 || fail "cannot read the $name of the containers"
}

# search_left: searches the saved image and what was left for what was planted, in all forms.
search_left() {
  docker save --output "$COMPOSE_SMOKE/image.tar" "$NOTICES_IMAGE"
  docker image inspect --format '{{json .RootFS.Layers}}' "$base" >"$COMPOSE_SMOKE/base.json"
  leave logs $compose logs --no-color
  # shellcheck disable=SC2046 # split into ids
  leave inspection docker inspect $($compose ps -q)
  (cd "$checkout_of_this" && COMPOSE_SMOKE="$COMPOSE_SMOKE" npx vitest run --project unit test/canary/containers.test.ts) ||
    fail 'something that was planted was found, see above, or the search failed'
}

plant
docker build --network host --build-arg NPM_TOKEN="$NPM_TOKEN" --tag "$NOTICES_IMAGE" .
user=$(docker inspect --format '{{.Config.User}}' "$NOTICES_IMAGE")
[ "$user" = node ] || fail "the image runs as '$user', not as node"
packages=$(docker run --rm --entrypoint cat "$NOTICES_IMAGE" sbom.cdx.json)
[[ $packages == *'"name": "bullmq"'* ]] || fail 'the image does not list its packages'

# A builder may keep the base image to itself.
base=$(sed -n 's/^ARG NODE_IMAGE=//p' Dockerfile)
docker image inspect "$base" >/dev/null 2>&1 || docker pull --quiet "$base" >/dev/null
size_of() { docker image inspect --format '{{.Size}}' "$1"; }
above=$((($(size_of "$NOTICES_IMAGE") - $(size_of "$base")) / 1000000))
[ "$above" -le "$most_mb" ] || fail "the image is $above MB larger than $base, more than $most_mb"

deploy/make-secrets.sh "$SECRETS_FOLDER"
$compose up --detach --no-build --scale emulator-worker=2
until_true 60 'the emulator' emulator_answers
until_true 90 'two healthy workers' workers_are_healthy

{ echo contact; sed 's/,.*//' list.csv; } |
  COMPOSE_PROFILES=emulator,cli $compose run --rm --no-deps -T cli import - --template COMPOSE_SMOKE |
  tee "$left/output"

until_true 60 "$contacts accepted contacts" all_accepted
counts=$(record requests distinct twice tokens.issued)
[ "$counts" = "$contacts $contacts 0 1" ] ||
  fail "expected $contacts requests, $contacts numbers, 0 twice, 1 token; got $counts"

processes() { for id in $($compose ps -q); do docker top "$id" -eo pid,args; done; }
leave processes processes

# A stopping worker exits by itself, well before it would be killed.
workers=$($compose ps -q emulator-worker)
[ "$(wc -w <<<"$workers")" = 2 ] || fail "expected two workers, got: $workers"
$compose stop --timeout 45 emulator-worker
for id in $workers; do
  code=$(docker inspect --format '{{.State.ExitCode}}' "$id")
  [ "$code" = 0 ] || fail "a worker ended with $code"
done
search_left
echo "$contacts contacts, sent by two workers with one token, each accepted once; $above MB above $base."
echo 'Nothing that was planted is in the image, the logs, the environment or the arguments of the containers.'
