//! Images, from a path dropped on the terminal to the model.

use std::fs;

use serde_json::Value;

use crate::support::desk::{Desk, with_server};
use crate::support::model_server::{ModelServer, Reply};
use crate::support::terminal::Slug;

/// A picture of 4×4 red pixels.
fn put_picture(desk: &Desk, name: &str) -> String {
    let picture = image::RgbaImage::from_pixel(4, 4, image::Rgba([255, 0, 0, 255]));
    let path = desk.path(name);
    picture.save(&path).unwrap();
    path.display().to_string()
}

fn drop_on(slug: &mut Slug, path: &str) {
    slug.keys(&format!("\x1b[200~{path}\x1b[201~"));
}

#[test]
fn a_dropped_image_reaches_the_model_and_is_kept() {
    let (desk, server) = (Desk::new(), ModelServer::start());
    let path = put_picture(&desk, "my shot.png");
    server.reply(Reply::text("It is red."));
    let endpoint = server.endpoint();
    let mut slug = Slug::at(&desk, 100, 30).args(&with_server(&endpoint, &[])).open();
    slug.wait_for("test-model");
    drop_on(&mut slug, &path.replace(' ', "\\ "));
    slug.wait_for("[Image 1 my shot.png 4×4]");
    slug.say(" which colour?");
    slug.wait_for("It is red.");
    slug.wait_for("PNG 4×4");
    let chats = server.chats();
    let content = &chats[0].messages().last().unwrap()["content"];
    assert!(content[0]["text"].as_str().unwrap().ends_with("which colour?"), "{content}");
    let url = content[1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{url}");
    let kept = logged(&desk);
    assert_eq!((&kept["name"], &kept["width"]), (&"my shot.png".into(), &4.into()));
    let hash = kept["hash"].as_str().unwrap();
    let blob = desk.slug_home().join("blobs").join(&hash[..2]).join(&hash[2..]);
    assert_eq!(fs::read(blob).unwrap(), fs::read(path).unwrap());
    server.assert_clean();
}

/// The image in the one session's log.
fn logged(desk: &Desk) -> Value {
    let id = desk.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    let log = desk.slug_home().join("sessions").join(format!("{id}.jsonl"));
    let log = fs::read_to_string(log).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut blocks = lines.flat_map(|line| line["content"].as_array().cloned().unwrap_or_default());
    blocks.find(|block| block["type"] == "image").unwrap()
}
