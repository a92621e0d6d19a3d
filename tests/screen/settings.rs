//! `/settings` on a real terminal: what is chosen is in the user's file, and in effect.

use std::fs;

use crate::support::model_server::ModelServer;
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

const FILE: &str = "# mine\n[ui]\nwheel_rows = 5 # fast\n";

fn start(env: &TestEnv, server: &ModelServer, arguments: &[&str]) -> PtySlug {
    let slug = PtySlug::at(env, 100, 30).server(server).args(arguments).open();
    slug.wait_for_raw("the model", |raw| raw.contains("test-model"));
    slug
}

fn open(slug: &mut PtySlug, filter: &str) {
    slug.keys("/settings");
    slug.wait_for("show and change every setting");
    slug.keys(key::ENTER);
    slug.wait_for("type to filter");
    slug.keys(filter);
    slug.wait_for(" of 6");
}

#[test]
fn a_setting_is_saved_takes_effect_and_is_undone() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", FILE);
    let file = env.slug_home().join("config.toml");
    let read = || fs::read_to_string(&file).unwrap();
    let mut slug = start(&env, &server, &[]);
    open(&mut slug, "ui.vi");
    slug.keys(key::ENTER);
    slug.wait_for("removes it from config.toml");
    slug.keys("true\r");
    slug.wait_for("It takes effect at once.");
    assert_eq!(read(), format!("{FILE}vi = true\n"));
    slug.keys(key::ESC);
    slug.wait_for_no("Settings");
    slug.wait_for("INSERT");
    open(&mut slug, "wheel_rows");
    slug.wait_for("your file:3");
    slug.keys(key::ENTER);
    slug.wait_for("Leave empty for the default.");
    slug.keys(&format!("{}99\r", key::CTRL_U));
    slug.wait_for("Not saved: `ui.wheel_rows` must be between 1 and 50.");
    assert_eq!(read(), format!("{FILE}vi = true\n"));
    slug.keys(&format!("{}7\r", key::CTRL_U));
    slug.wait_for("back to 5");
    assert_eq!(read(), format!("{}vi = true\n", FILE.replace('5', "7")));
    slug.keys(key::UP);
    slug.wait_for("❯ Undo ui.wheel_rows");
    slug.keys(key::ENTER);
    slug.wait_for("back to 7");
    assert_eq!(read(), format!("{FILE}vi = true\n"));
}

#[test]
fn a_flag_and_a_named_file_are_respected() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("other.toml", "");
    let other = env.path("other.toml");
    let mut slug = start(&env, &server, &["--config", other.to_str().unwrap()]);
    open(&mut slug, "the model to start");
    slug.wait_for("--model sets model for this run.");
    slug.keys(key::ESC);
    slug.wait_for_no("Settings");
    open(&mut slug, "ui.mouse");
    slug.keys(key::ENTER);
    slug.wait_for("removes it from config.toml");
    slug.keys("false\r");
    slug.wait_for("It takes effect at the next start.");
    assert_eq!(env.read("other.toml"), "[ui]\nmouse = false\n");
    assert!(!env.slug_home().join("config.toml").exists());
}
