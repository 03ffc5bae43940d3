#!/bin/sh
# Starts Redis in its container with the users of users.acl. Each gets the password in the secret file of its
# name; a user without one cannot sign in. Passwords are neither in arguments nor in the environment, and Redis
# gets their SHA-256 only. Arguments are further settings of Redis.
set -eu
secrets=${SECRETS:-/run/secrets}
acl=$(mktemp)
while read -r line; do
  name=${line#user }
  name=${name%% *}
  if [ -e "$secrets/$name" ]; then
    password=$(cat "$secrets/$name")
    # The hash of an empty password would let anyone in.
    [ -n "$password" ] || { echo "$secrets/$name is empty" >&2; exit 1; }
    line="$line #$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)"
  fi
  printf '%s\n' "$line"
done <"$(dirname "$0")/users.acl" >"$acl"
# The image starts Redis as the user redis, where it has been started as root.
[ "$(id -u)" != 0 ] || chown redis "$acl" || true
exec docker-entrypoint.sh redis-server --aclfile "$acl" "$@"
