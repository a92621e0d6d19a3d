//! A server that repeats the secret that it got wherever it can: no model, log or file gets it.

use std::path::Path;

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{last_user_text, result_of};

const SECRET: &str = "s3cret-canary-1";
const MARK: &str = "[redacted: a secret for the MCP server s]";

/// Its answer to a call has the secret across the place where results are cut.
const REPEATING_SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
s=$MY_API_KEY
while IFS= read -r line; do
  id=null
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
  *'"method":"initialize"'*)
    answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"'"$s"'","version":"1"},"instructions":"Log in with '"$s"'."}' ;;
  *'"method":"tools/list"'*)
    answer '{"tools":[{"name":"echo","description":"Takes '"$s"'.","inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"as '"$s"'","enum":["'"$s"'"],"default":"'"$s"'"}}}}]}' ;;
  *'"method":"tools/call"'*)
    text=$(yes q | head -n 99990 | tr -d '\n')
    answer '{"content":[{"type":"text","text":"'"$text$s$text"'"}]}' ;;
  esac
done
"#;

/// The files below a folder that have the text in them.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if let Ok(bytes) = std::fs::read(&path)
            && String::from_utf8_lossy(&bytes).contains(text)
        {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn what_a_server_says_gives_its_secret_to_no_model_log_or_file() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let script = env.home().join("server.sh");
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(&script, REPEATING_SERVER).unwrap();
    let config = format!(
        "[mcp.s]\ncommand = \"bash\"\nargs = [{script:?}]\nalways_load = true\n\
         env = {{ MY_API_KEY = \"{SECRET}\" }}\n"
    );
    env.write_home("config.toml", &config);
    env.write_home("settings.json", r#"{"permissions":{"allow":["mcp__s__echo"]}}"#);
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["-p", "one"]).assert_exit_code(0);
    server.reply(ServerReply::calls("", &[("c1", "mcp__s__echo", json!({"a": "x"}))]));
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["-p", "two"]).assert_exit_code(0);

    let requests = server.chat_requests();
    assert!(last_user_text(&requests[0]).contains(&format!("Log in with {MARK}.")));
    let tools = requests[1].body["tools"].to_string();
    assert!(tools.contains(&format!("Takes {MARK}.")) && tools.contains(&format!("[\"{MARK}\"]")));
    let result = result_of(requests.last().unwrap(), "c1");
    assert!(result.contains("qqq[reda") && result.contains("the whole result is in"));
    for request in &requests {
        assert!(!request.body.to_string().contains("s3c"), "{}", request.body);
    }
    assert_eq!(files_with(&env.slug_home(), SECRET), ["config.toml"]);
    assert!(!files_with(&env.slug_home(), MARK).is_empty());
    server.assert_clean();
}
