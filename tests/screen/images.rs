//! Images, from a path dropped on the terminal to the model.

use std::fs;

use serde_json::Value;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::PtySlug;
use crate::support::test_env::TestEnv;

/// Writes a picture of 4×4 red pixels, and returns its path.
fn put_picture(env: &TestEnv, name: &str) -> String {
    let picture = image::RgbaImage::from_pixel(4, 4, image::Rgba([255, 0, 0, 255]));
    let path = env.path(name);
    picture.save(&path).unwrap();
    path.display().to_string()
}

fn drop_on(slug: &mut PtySlug, path: &str) {
    slug.keys(&format!("\x1b[200~{path}\x1b[201~"));
}

#[test]
fn a_dropped_image_reaches_the_model_and_is_kept() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let path = put_picture(&env, "my shot.png");
    server.reply(ServerReply::text("It is red."));
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).open();
    slug.wait_for("test-model");
    drop_on(&mut slug, &path.replace(' ', "\\ "));
    slug.wait_for("[Image 1 my shot.png 4×4]");
    slug.say(" which colour?");
    slug.wait_for("It is red.");
    slug.wait_for("PNG 4×4");
    let chats = server.chat_requests();
    let content = &chats[0].messages().last().unwrap()["content"];
    assert!(content[0]["text"].as_str().unwrap().ends_with("which colour?"), "{content}");
    let url = content[1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{url}");
    let kept = logged(&env);
    assert_eq!((&kept["name"], &kept["width"]), (&"my shot.png".into(), &4.into()));
    let hash = kept["hash"].as_str().unwrap();
    let blob = env.slug_home().join("blobs").join(&hash[..2]).join(&hash[2..]);
    assert_eq!(fs::read(blob).unwrap(), fs::read(path).unwrap());
    server.assert_clean();
}

/// Whether the terminal under test can show pictures.
#[derive(Clone, Copy)]
enum PictureSupport {
    Shown,
    None,
}

/// All bytes that a terminal with these variables gets while a picture is shown and hidden.
fn told(variables: &[(&str, &str)], config: &str, pictures: PictureSupport) -> String {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", config);
    let path = put_picture(&env, "a.png");
    server.reply(ServerReply::text("It is red."));
    let mut start = PtySlug::at(&env, 100, 30).server(&server);
    for (name, value) in variables {
        start = start.env(name, value);
    }
    let mut slug = start.open();
    slug.wait_for("test-model");
    drop_on(&mut slug, &path);
    slug.wait_for("[Image 1 a.png 4×4]");
    slug.say(" which colour?");
    slug.wait_for("It is red.");
    match pictures {
        PictureSupport::Shown => slug.wait_for_raw("a picture", |raw| raw.contains("iVBOR")),
        PictureSupport::None => slug.wait_for("PNG 4×4"),
    }
    // Folding removes the picture, unfolding brings it back.
    slug.keys("/fold images closed\r");
    slug.wait_for("▸ Image");
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    slug.raw()
}

#[test]
fn kitty_gets_a_picture_once_and_forgets_it() {
    let raw =
        told(&[("TERM", "xterm-kitty"), ("COLORTERM", "truecolor")], "", PictureSupport::Shown);
    assert_eq!(raw.matches("\x1b_Ga=T,U=1,q=2,f=100,i=").count(), 1);
    let shown = raw.find("\x1b_Ga=T").unwrap();
    let forgotten = raw.find("\x1b_Ga=d,d=I,i=").unwrap();
    assert!(shown < forgotten, "it is forgotten when it is folded");
    assert_eq!(raw.matches("\x1b_Ga=d").count(), 1);
    assert!(raw.contains("\u{10eeee}\u{305}\u{305}"));
}

#[test]
fn others_get_it_painted_over_the_place() {
    let wezterm = [("TERM_PROGRAM", "WezTerm"), ("COLORTERM", "truecolor")];
    let raw = told(&wezterm, "", PictureSupport::Shown);
    assert_eq!(raw.matches("\x1b]1337;File=inline=1;").count(), 1);
    assert!(!raw.contains('\u{10eeee}'));
}

#[test]
fn a_terminal_that_is_not_known_for_it_gets_no_picture() {
    let kitty = ("TERM", "xterm-kitty");
    let tmux = [kitty, ("TMUX", "/tmp/t,1,0")];
    for (variables, config) in [
        (&[("TERM", "xterm-256color")][..], ""),
        (&tmux[..1], "[ui]\nimages = false"),
        (&[kitty, ("NO_COLOR", "1")], ""),
    ] {
        let raw = told(variables, config, PictureSupport::None);
        assert!(!raw.contains("\x1b_G") && !raw.contains("\x1b]1337;"), "{variables:?}");
    }
    assert!(!told(&tmux, "", PictureSupport::None).contains("_Ga=T"));
}

/// The image in the one session's log.
fn logged(env: &TestEnv) -> Value {
    let id = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    let log = env.slug_home().join("sessions").join(format!("{id}.jsonl"));
    let log = fs::read_to_string(log).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut blocks = lines.flat_map(|line| line["content"].as_array().cloned().unwrap_or_default());
    blocks.find(|block| block["type"] == "image").unwrap()
}
