use std::path::Path;

use crate::parse::{Recipe, parse};

pub fn load(path: &Path) -> Recipe {
    let text = std::fs::read_to_string(path).unwrap();
    if text.trim().is_empty() {
        panic!("empty");
    }
    parse(&text)
}
