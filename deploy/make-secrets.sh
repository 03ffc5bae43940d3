#!/bin/sh
# Creates the secret files of docker-compose.yml that do not exist yet; changes none that do.
#
#   deploy/make-secrets.sh [FOLDER]      default: secrets
#
# Passwords of Redis users and keys of this program are random. The key pair of the service is the emulator's:
# replace access_key and secret_key. Other files are empty until they are needed.
set -eu
folder=${1:-secrets}
# Containers read the files as another user; other users of this machine cannot enter the folder.
mkdir -p "$folder"
chmod 700 "$folder"
umask 022

random() { head -c 32 /dev/urandom | base64 | tr -d '\n='; }
# put NAME TEXT
put() { [ -e "$folder/$1" ] || printf '%s\n' "$2" >"$folder/$1"; }

for user in producer importer worker ops; do put "notices-$user" "$(random)"; done
put payload_key "$(random)"
put find_key "$(random)"
put ops_session_key "$(random)"
put event_webhook_secret "$(random)"
put access_key emulator-access-key
put secret_key emulator-secret-key
for name in payload_key_previous proxy_url event_webhook_url ops_users ops_api_keys; do put "$name" ''; done
