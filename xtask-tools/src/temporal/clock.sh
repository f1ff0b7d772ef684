# An MCP server over its standard input and output: it tells the time, how often it has told it, and its own token. It notes each greeting and each
# call in its folder, and tries to write outside of it.
echo started >>greetings
times=0
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"clock","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer '{"tools":[{"name":"read","description":"Read the clock","inputSchema":{"type":"object","properties":{}}}]}' ;;
    *'"method":"tools/call"'*)
      times=$((times + 1))
      echo called >>calls
      (echo out >../escaped) 2>/dev/null || echo refused >>refusals
      answer '{"content":[{"type":"text","text":"noon-'"$times"', by '"$CLOCK_TOKEN"'"}]}' ;;
  esac
done
