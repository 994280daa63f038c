#!/bin/sh
# Installs the agents that `make test-hosts` runs, at pinned versions, by npm and into one folder.
#
#   scripts/hosts.sh FOLDER [pi] [claude-code] [codex] [gemini] [opencode]     (all by default)
#
# Each lies in FOLDER/NAME/node_modules/.bin, with the Node it needs in node22 or node20 beside it.
# What is there already at its version is left alone. Needs npm.
set -eu

cd "$(dirname "$0")/.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- pi claude-code codex gemini opencode

install() { # install NAME PACKAGE@VERSION
    stamp=$folder/$1/.installed
    [ "$(cat "$stamp" 2>/dev/null)" != "$2" ] || return 0
    printf 'Installing %s into %s\n' "$2" "$folder/$1"
    mkdir -p "$folder/$1"
    # A package.json of its own keeps npm from climbing to that of a folder above.
    printf '{"private": true}\n' >"$folder/$1/package.json"
    npm install --prefix "$folder/$1" --silent --no-audit --no-fund "$2" ||
        { printf 'error: npm could not install %s; again without --silent:\n  %s\n' "$2" \
            "npm install --prefix $folder/$1 $2" >&2; exit 1; }
    printf '%s\n' "$2" >"$stamp"
}

install node22 node@22.23.3
PATH=$folder/node22/node_modules/.bin:$PATH # some hosts have installers that want a recent Node
for name; do
    case $name in
        pi)
            install pi @earendil-works/pi-coding-agent@1.6.0
            # The last version under the old name, and of its years the Node.
            install pi-0.73 @mariozechner/pi-coding-agent@0.73.1
            install node20 node@20.20.2
            ;;
        claude-code) install claude-code @anthropic-ai/claude-code@2.1.332 ;;
        codex) install codex @openai/codex@0.171.0 ;;
        gemini) install gemini @google/gemini-cli@0.61.0 ;;
        opencode) install opencode opencode-ai@1.18.33 ;;
        *)
            printf 'error: no host %s; there are pi claude-code codex gemini opencode\n' "$name" >&2
            exit 2
            ;;
    esac
done
