#!/bin/sh
# The three tools through the official MCP inspector, a client that shares no code with ours.
# Needs npm; everything else goes into a temporary folder. Usage: scripts/inspect.sh [RAG_AGENT]
set -eu
cd "$(dirname "$0")/.."
server=$(realpath "${1:-.venv/bin/rag-agent}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --no-package-lock --prefix "$work/npm" \
	node@22 @modelcontextprotocol/inspector@2.12.0 >/dev/null
PATH="$work/npm/node_modules/node/bin:$work/npm/node_modules/.bin:$PATH"

mkdir "$work/project" "$work/home"
cp rag_agent/tokens.py rag_agent/progress.py LICENSE "$work/project/"

ask() {
	mcp-inspector --cli --cwd "$work/project" -e "HOME=$work/home" -e "XDG_CACHE_HOME=$work/cache" \
		"$server" serve --method "$@"
}
expect() {
	if ! printf '%s' "$answer" | grep -qF -- "$1"; then
		printf 'the answer lacks %s:\n%s\n' "$1" "$answer" >&2
		exit 1
	fi
}

answer=$(ask tools/list --strict)
for tool in rag_index rag_query rag_status; do expect "\"name\": \"$tool\""; done
answer=$(ask tools/call --tool-name rag_index --tool-arg path=.)
expect "3 files"
answer=$(ask tools/call --tool-name rag_query --tool-arg query="split an identifier into its words")
expect "tokens.py:"
answer=$(ask tools/call --tool-name rag_status)
expect 'documents'
echo "inspector: tools/list --strict, rag_index, rag_query and rag_status answered"
