//! Tests of how much of the transcript is searched in each step, and of matches in coloured text.

use super::line_matches::matches;
use super::scan::{BLOCK_COST, PIECE};
use super::*;
use crate::domain::ContentBlock;
use crate::tui::app::conversation::transcript::Transcript;
use crate::tui::test_screen::{assistant, user};

/// A transcript of numbered messages, by the user and the model in turn.
fn talk(messages: usize, text: impl Fn(usize) -> String) -> Transcript {
    let records: Vec<_> = (0..messages)
        .map(|number| match number % 2 {
            0 => user(&text(number)),
            _ => assistant(vec![ContentBlock::Text { text: text(number) }]),
        })
        .collect();
    Transcript::from_records("/".into(), &records)
}

fn search(text: &str, kind: TextQueryKind, from: u64) -> TranscriptSearch {
    let mut search = TranscriptSearch::new((ScrollAnchor::Tail, KeyboardFocus::Input));
    search.query = Some(TextQuery::new(text, kind).unwrap());
    search.scan = TranscriptScan::from(BlockId(from));
    search
}

/// Searches everything; returns the cost of each step.
fn all(search: &mut TranscriptSearch, transcript: &Transcript) -> Vec<usize> {
    let mut steps = Vec::new();
    while search.is_looking(transcript) {
        steps.push(search.step(transcript, STEP));
    }
    steps
}

#[test]
fn a_hundred_thousand_messages_are_searched_in_bounded_steps() {
    let filler = "some words that were said in the course of a long session ".repeat(4);
    let transcript = talk(100_000, |number| format!("{filler} number {number}."));
    let mut search = search("number 4242.", TextQueryKind::Plain, 60_000);
    let steps = all(&mut search, &transcript);
    let bytes: usize = steps.iter().sum();
    let text = 100_000 * (filler.len() + " number 12345.".len() + BLOCK_COST);
    assert!(bytes <= text, "{bytes} of {text}: each block was looked at once");
    assert!(steps.iter().all(|step| *step <= STEP), "no step does more than it may");
    assert_eq!(search.hits.len(), 1);
    assert_eq!(search.hits[0].block, BlockId(4242));
}

#[test]
fn near_matches_are_found_first() {
    let transcript = talk(10_000, |number| format!("{} word {number}", "x".repeat(500)));
    let mut search = search("word", TextQueryKind::Plain, 5_000);
    search.step(&transcript, STEP);
    assert_eq!(search.hits.back().unwrap().block, BlockId(4_999));
    assert!(search.hits.front().unwrap().block > BlockId(3_000), "not all was looked at");
}

#[test]
fn a_long_text_is_looked_at_in_pieces_and_its_matches_stay_in_order() {
    let text: String = (0..400_000).map(|n| format!("{n} needle\n")).collect();
    let transcript = talk(3, |number| if number == 1 { text.clone() } else { "needle".into() });
    let mut search = search("99 needle", TextQueryKind::Plain, 3);
    let steps = all(&mut search, &transcript);
    assert!(steps.len() > text.len() / STEP / 2 && steps.iter().all(|step| *step <= STEP + PIECE));
    assert!(search.hits.iter().is_sorted());
    assert_eq!(search.hits.len(), text.matches("99 needle").count());
}

#[test]
fn too_many_matches_end_the_search() {
    let transcript = talk(100_000, |_| "e e e e e e e e e e".into());
    let mut search = search("e", TextQueryKind::Plain, 100_000);
    let steps = all(&mut search, &transcript);
    assert!(search.hits.len() >= MOST && search.hits.len() < 2 * MOST);
    assert!(steps.len() < 3);
    assert_eq!(search.found(&transcript), TranscriptSearchStatus::TooMany);
}

#[test]
fn colours_inside_a_word_do_not_prevent_a_match() {
    let text = "plain\n\x1b[31mre\x1b[0md \x1b[1mline\x1b[0m\nred";
    for kind in [TextQueryKind::Plain, TextQueryKind::Regex] {
        let query = TextQuery::new("red", kind).unwrap();
        let found = matches(&query, text);
        let texts: Vec<&str> = found.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(texts, ["re\x1b[0md", "red"], "{kind:?}");
    }
}

#[test]
fn regex_anchors_match_at_lines() {
    let query = TextQuery::new("^b.$", TextQueryKind::Regex).unwrap();
    assert_eq!(matches(&query, "ab1\nb2\nb3c\nb4"), [4..6, 11..13]);
}
