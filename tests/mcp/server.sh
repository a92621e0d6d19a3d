# A server of the Model Context Protocol over standard input and output. $1 is a folder: what it
# does besides answering is decided by the files there.
state=$1
echo "started" >>"$state/starts"
echo "hello on standard error" >&2
env >"$state/environment"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  echo "$line" >>"$state/received"
  id=null
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
  *'"method":"initialize"'*)
    [ -e "$state/silent" ] && continue
    echo 'this is no message'
    answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"},"instructions":"Finds bugs.\nMore."}' ;;
  *'"method":"tools/list"'*'"cursor":"two"'*)
    answer '{"tools":[{"name":"second","inputSchema":{"type":"object"}}],"nextCursor":""}' ;;
  *'"method":"tools/list"'*)
    description=$(cat "$state/description" 2>/dev/null || echo first)
    answer '{"tools":[{"name":"echo","description":"'"$description"'","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},{"name":"bad","inputSchema":true},{"name":"hang"},{"name":"die"},{"name":"big"},{"name":"change"}],"nextCursor":"two"}' ;;
  *'"method":"tools/call"'*'"name":"echo"'*)
    [[ $line =~ \"progressToken\":([0-9]+) ]] &&
      printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"half"}}\n' "${BASH_REMATCH[1]}"
    # What comes at the same instant may be told in another order.
    sleep 0.2
    [[ $line =~ \"text\":\"([^\"]*)\" ]]
    answer '{"content":[{"type":"text","text":"echo: '"${BASH_REMATCH[1]}"'"}]}' ;;
  *'"method":"tools/call"'*'"name":"second"'*)
    answer '{"content":[{"type":"hologram"}],"isError":true}' ;;
  *'"method":"tools/call"'*'"name":"hang"'*)
    [ -e "$state/flood" ] || continue
    echo $$ >"$state/flooding"
    exec yes "$(cat "$state/flood")" ;;
  *'"method":"tools/call"'*'"name":"die"'*)
    kill -9 $$ ;;
  *'"method":"tools/call"'*'"name":"big"'*)
    text=$(yes x | head -c 400000 | tr -d '\n')
    answer '{"content":[{"type":"text","text":"'"$text"'"}]}' ;;
  *'"method":"tools/call"'*'"name":"change"'*)
    echo second >"$state/description"
    printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n%.0s' 1 2 3
    answer '{"content":[]}' ;;
  esac
done
echo "ended" >>"$state/starts"
