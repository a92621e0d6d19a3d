//! A stranger's first hour: from the first start to the next day, in few keys.

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

/// The most keys that it may take besides the text.
const MOST_KEYS: usize = 40;

const KEY: &str = "sk-of-a-stranger";

/// slug as the stranger uses it. Counts the keys; what is typed as text does not count.
struct Stranger {
    slug: PtySlug,
    keys: usize,
}

impl Stranger {
    fn start(env: &TestEnv, keys: usize) -> Self {
        Self { slug: PtySlug::at(env, 100, 30).open(), keys }
    }

    fn press(&mut self, key: &str) {
        self.keys += 1;
        self.slug.keys(key);
    }

    /// Types a text and takes it with Enter.
    fn enter(&mut self, text: &str) {
        self.slug.keys(text);
        self.slug.wait_for(text);
        self.press(key::ENTER);
    }

    /// Goes back or forth with a command, files and conversation.
    fn rewind(&mut self, command: &str) {
        self.enter(command);
        self.slug.wait_for_question("y     files and conversation");
        self.press("y");
    }

    /// Goes down to the row that shows `text`, and takes it.
    fn take(&mut self, text: &str) {
        let row = format!("❯ {text}");
        while !self.slug.screen().contains(&row) {
            let before = self.slug.screen();
            self.press(key::DOWN);
            self.slug.wait_until("a step down", |screen| screen != before);
        }
        self.slug.wait_for_question(&row);
        self.press(key::ENTER);
    }
}

#[test]
fn the_first_hour_takes_few_keys() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let (wrong, right) = ("return net * 1.9\n", "return net * 1.19\n");
    env.write("price.py", &format!("def gross(net):\n    {wrong}"));
    let path = env.path("price.py");
    let edit = json!({"file_path": path, "old_string": wrong, "new_string": right});
    server.answer("GET /v1/models", ServerReply::error(401, "no key"));
    server.reply(ServerReply::calls("", &[("c1", "Read", json!({"file_path": path}))]));
    server.reply(ServerReply::calls("The rate is wrong.", &[("c2", "Edit", edit)]));
    server.reply(bash("c3", "touch deployed"));
    server.reply(ServerReply::text("Fixed the rate, and deployed nothing."));

    // Start, and connect to a server that wants a key.
    let mut stranger = Stranger::start(&env, 0);
    stranger.slug.wait_for_no("looking");
    stranger.slug.wait_for("Enter an address");
    stranger.take("Enter an address");
    stranger.slug.wait_for("The address of the server");
    let address = server.endpoint().replace("http://", "").replace("/v1", "");
    stranger.slug.keys(&address);
    stranger.slug.wait_for_question(&address);
    stranger.press(key::ENTER);
    stranger.slug.wait_for_question("key");
    let models = json!({"object": "list", "data": [{"id": "test-model", "object": "model"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &models));
    stranger.slug.keys(KEY);
    stranger.press(key::ENTER);
    stranger.slug.wait_for("enter send");

    // Fix a bug, and refuse one thing.
    stranger.enter("the gross price is far too high");
    stranger.slug.wait_for_dialog("price.py");
    stranger.press(key::ENTER);
    stranger.slug.wait_for_dialog("touch deployed");
    stranger.press("n");
    stranger.slug.wait_for("deployed nothing.");
    assert!(env.read("price.py").contains(right) && !env.path("deployed").exists());
    assert!(result_of(&server.chat_requests()[3], "c3").contains("said no"));

    // Undo, and redo.
    stranger.rewind("/undo");
    stranger.slug.wait_for("Undone");
    assert!(env.read("price.py").contains(wrong));
    // The message is in the input again.
    stranger.press(key::CTRL_U);
    stranger.rewind("/redo");
    stranger.slug.wait_for("deployed nothing.");
    assert!(env.read("price.py").contains(right));

    // Find it again.
    stranger.press(key::CTRL_F);
    stranger.enter("rate is wrong");
    stranger.slug.wait_for("▎The rate is wrong.");
    stranger.press(key::ESC);
    stranger.slug.wait_for("tab input");
    stranger.press("\t");
    stranger.slug.wait_for("enter send");

    // Leave, and come back.
    stranger.enter("/quit");
    assert!(stranger.slug.wait().success());
    let mut stranger = Stranger::start(&env, stranger.keys);
    stranger.slug.wait_for("the gross price is far too high");
    stranger.press("\x1b1");
    stranger.slug.wait_for("deployed nothing.");
    stranger.enter("/quit");
    assert!(stranger.slug.wait().success());

    assert!(stranger.keys < MOST_KEYS, "{} keys", stranger.keys);
    let asked = server.chat_requests();
    assert!(asked.iter().all(|it| it.headers["authorization"] == format!("Bearer {KEY}")));
    server.assert_clean();
}
