//! What the session has taken, in the first line and on the page of `/status`.

use crate::agent::Event;
use crate::domain::{Money, Usage, Window};
use crate::session::{Conversation, Entry, MessageEntry, Record};
use crate::tui::scene::{Scene, assistant, screen};

/// A response of `model` that took this many tokens, a tenth of them written, and cost this many
/// thousandths of a dollar.
fn took(model: &str, tokens: u64, cost: Option<u64>) -> Record {
    let mut record = assistant(Vec::new());
    if let Entry::Message(said) = &mut record.entry {
        *said = MessageEntry {
            model: Some(model.to_owned()),
            usage: Some(Usage {
                input: tokens,
                output: tokens / 10,
                cache_read: tokens / 2,
                cache_write: 0,
            }),
            cost: cost.map(|cost| Money::from_nanos(cost * 1_000_000)),
            ..said.clone()
        };
    }
    record
}

fn spent(records: &[Record]) -> Event {
    Event::Spent(Box::new(Conversation::of(records).spending))
}

fn two_models(width: u16, height: u16) -> Scene {
    let mut scene = screen(width, height);
    scene.model.status.window = Some(Window::Known(1_000_000));
    scene
        .event(spent(&[
            took("claude-sonnet-5-5", 120_000, Some(184)),
            took("qwen3-coder", 8_000, None),
        ]))
        .types("/status")
        .key("enter")
}

#[test]
fn the_first_line_has_the_cost_where_it_is_known() {
    screen(120, 40)
        .event(spent(&[took("qwen3-coder", 1000, None)]))
        .hides("$")
        .event(spent(&[took("claude", 1000, Some(184))]))
        .shows("$0.18 ")
        .event(spent(&[took("claude", 1000, Some(184)), took("qwen3-coder", 1000, None)]))
        .shows("$0.18+");
}

#[test]
fn the_page_has_the_sums_by_model() {
    insta::assert_snapshot!("status_80x24", two_models(80, 24).text());
    insta::assert_snapshot!("status_120x40", two_models(120, 40).text());
}

#[test]
fn the_page_says_so_where_no_price_is_known() {
    screen(80, 24)
        .event(spent(&[took("qwen3-coder", 1000, None)]))
        .types("/status")
        .key("enter")
        .shows("slug has none for servers of your own");
}
