# A language server over standard input and output, for files with one line: it finds the version of the
# text. $1 is a folder for what the tests look at.
LC_ALL=C
state=$1
env >"$state/environment"
echo "hello on standard error" >&2
say() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
while :; do
  length=0
  while IFS= read -r header; do
    header=${header%$'\r'}
    [ -z "$header" ] && break
    case $header in Content-Length:*) length=${header#*: } ;; esac
  done
  [ "$length" -gt 0 ] || exit 0
  IFS= read -r -N "$length" message || exit 0
  id=null
  [[ $message =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $message in
  *'"method":"initialize"'*)
    say '{"jsonrpc":"2.0","id":'"$id"',"result":{"capabilities":{"textDocumentSync":1}}}'
    say '{"jsonrpc":"2.0","id":"ask","method":"workspace/configuration","params":{"items":[{"section":"a"}]}}' ;;
  *'"method":"textDocument/didOpen"'* | *'"method":"textDocument/didChange"'*)
    [[ $message =~ \"uri\":\"([^\"]+)\" ]] && uri=${BASH_REMATCH[1]}
    [[ $message =~ \"version\":([0-9]+) ]] && version=${BASH_REMATCH[1]}
    say '{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"'"$uri"'","version":'"$version"',"diagnostics":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"severity":1,"source":"scripted","message":"version '"$version"'"}]}}' ;;
  *'"method":"shutdown"'*)
    say '{"jsonrpc":"2.0","id":'"$id"',"result":null}' ;;
  *'"method":"exit"'*) exit 0 ;;
  esac
done
