//! Tests that incremental layout gives the lines of a fresh layout.

use std::sync::mpsc::channel;
use std::time::Duration;

use proptest::prelude::*;

use super::corpus::{CORPUS, examples};
use super::*;
use crate::tui::layout::HighlightState;

fn fresh(text: &str, width: u16) -> Vec<StyledLine> {
    render(text, width, &SyntaxHighlighter::off()).lines
}

#[track_caller]
fn agree(streaming: &mut StreamingMarkdown, width: u16) {
    let text = streaming.text().to_owned();
    let lines = streaming.lines(width, &SyntaxHighlighter::off());
    let expected = fresh(&text, width);
    if lines != expected {
        let show = |lines: &[StyledLine]| {
            lines.iter().map(|line| super::text(line) + "\n").collect::<String>()
        };
        assert_eq!(show(lines), show(&expected), "after {text:?}");
        assert_eq!(lines, expected, "after {text:?}");
    }
}

#[test]
fn every_prefix_of_every_text_agrees() {
    for text in CORPUS {
        let mut streaming = StreamingMarkdown::default();
        for c in text.chars() {
            streaming.push(c.encode_utf8(&mut [0; 4]));
            agree(&mut streaming, 40);
        }
    }
}

#[test]
fn every_prefix_of_every_example_of_the_specifications_agrees() {
    for text in examples() {
        let mut streaming = StreamingMarkdown::default();
        // Of long texts only some prefixes are checked.
        let step = 1 + text.len() / 600;
        for (index, c) in text.chars().enumerate() {
            streaming.push(c.encode_utf8(&mut [0; 4]));
            if index % step == 0 || c == '\n' {
                agree(&mut streaming, 40);
            }
        }
        agree(&mut streaming, 40);
    }
}

/// Text that has a quadratic cost if anything looks back or ahead from each of its characters: a
/// few kilobytes of the slowest took minutes.
#[test]
fn text_made_to_be_slow_agrees_too() {
    let times = 2_000;
    let numbered = |one: fn(usize) -> String| (0..times).map(one).collect::<String>();
    let repeated = [
        "[^1]: ",
        "[",
        "![",
        "*a ",
        "*a_",
        "a**b",
        "`",
        "`a``b```c",
        "<",
        "<a ",
        "<!--",
        "|",
        "a|",
        "> ",
        "- ",
        "1. ",
        "[a](",
        "[a][",
        "[a",
        "$a ",
        "\\(",
        "\\(x\\) &amp; ",
        "http://",
        "http://a\n",
        "![a](b)",
        "~~a ",
    ];
    let made = [
        format!("http://a{}", ")".repeat(times)),
        format!("{}`\\)", "\\(".repeat(times)),
        format!("{}\n{}\n", "|a".repeat(times), "|-".repeat(times)),
        numbered(|n| format!("[^{n}]: ")),
        numbered(|n| format!("[{n}]\n\n")) + &numbered(|n| format!("[{n}]: a\n")),
    ];
    for text in repeated.map(|part| part.repeat(times)).into_iter().chain(made) {
        let mut streaming = StreamingMarkdown::default();
        let (first, rest) = text.split_at(text.floor_char_boundary(text.len() / 2));
        for part in [first, rest, "\n\nx\n", "y"] {
            streaming.push(part);
            agree(&mut streaming, 40);
        }
    }
}

#[test]
fn examples_one_after_another_agree() {
    let examples: Vec<String> = examples();
    for few in examples.chunks(12) {
        let mut streaming = StreamingMarkdown::default();
        for line in few.join("\n\n").split_inclusive('\n') {
            let middle = line.char_indices().nth(line.chars().count() / 2).map_or(0, |(at, _)| at);
            for part in [&line[..middle], &line[middle..]] {
                streaming.push(part);
                agree(&mut streaming, 60);
            }
        }
    }
}

#[test]
fn texts_one_after_another_agree() {
    for separator in ["", "\n", "\n\n"] {
        let whole = CORPUS.join(separator);
        let mut streaming = StreamingMarkdown::default();
        for (index, c) in whole.chars().enumerate() {
            streaming.push(c.encode_utf8(&mut [0; 4]));
            if index % 97 == 0 {
                agree(&mut streaming, 60);
            }
        }
        agree(&mut streaming, 60);
    }
}

#[test]
fn a_change_of_width_lays_out_all_again() {
    let mut streaming = StreamingMarkdown::default();
    for (index, text) in CORPUS.iter().enumerate() {
        streaming.push(text);
        agree(&mut streaming, if index % 2 == 0 { 30 } else { 90 });
    }
}

#[test]
fn nothing_frozen_is_laid_out_twice() {
    // Blocks, list items, lines of code: the first line keeps its memory.
    for (start, more) in [
        ("first paragraph\n\nsecond\n\n", "third\n\n- list\n"),
        ("- first\n- second\n", "- third\n\n  more\n"),
        ("```\nfirst\nsecond\n", "third\n```\nend\n"),
    ] {
        let mut streaming = StreamingMarkdown::default();
        streaming.push(start);
        let bytes = |streaming: &mut StreamingMarkdown| {
            let lines = streaming.lines(40, &SyntaxHighlighter::off());
            lines[0].spans.last().map(|span| span.text.as_ptr())
        };
        let before = bytes(&mut streaming);
        streaming.push(more);
        assert_eq!(bytes(&mut streaming), before, "{start:?}");
    }
}

/// Where the text of a line is in memory: the address changes when the line is laid out again.
fn kept(line: &StyledLine) -> Option<*const u8> {
    line.spans.last().map(|span| span.text.as_ptr())
}

#[test]
fn a_definition_lays_out_only_what_refers_to_it() {
    for (label, definition) in
        [("[Far]", "[far]: https://a.example/far \"t\"\n"), ("[^1]", "[^1]: a note\n")]
    {
        let mut streaming = StreamingMarkdown::default();
        let blocks = |label: &str| format!("before [x](y)\n\nsee {label}\n\n- one [z]\n- two\n\n");
        streaming.push(&format!("[a]: /b\n\n{}end\n\nopen\n\n", blocks(label)));
        agree(&mut streaming, 60);
        let before: Vec<_> =
            streaming.lines(60, &SyntaxHighlighter::off()).iter().map(kept).collect();
        let mut relaid = 0;
        let mut last = before.clone();
        for part in definition.split_inclusive(|_: char| true).chain(["\nmore [a] and [^1]\n\n"]) {
            streaming.push(part);
            agree(&mut streaming, 60);
            let lines = streaming.lines(60, &SyntaxHighlighter::off()).iter();
            for ((line, before), last) in lines.zip(&before).zip(&mut last) {
                let text = text(line);
                if text.starts_with("see") {
                    // Compared from one layout to the next: a later layout may reuse the address of
                    // the first.
                    relaid += usize::from(kept(line) != *last);
                    *last = kept(line);
                } else if text != "open" {
                    assert_eq!(kept(line), *before, "{text:?}");
                }
            }
        }
        assert_ne!(relaid, 0, "{definition:?}");
    }
}

#[test]
fn texts_that_once_disagreed_agree() {
    for text in ["text\n  ```\n\\[\n\t```\n", "[^1]: a\n\n    [^2]: b\n", "[a]: /x\n    - b\n\nc\n"]
    {
        let mut streaming = StreamingMarkdown::default();
        for c in text.chars() {
            streaming.push(c.encode_utf8(&mut [0; 4]));
            agree(&mut streaming, 40);
        }
    }
}

#[test]
fn references_far_above_follow_what_is_defined_at_the_end() {
    let mut text: String = (0..30)
        .map(|n| format!("Paragraph {n} with [a link][l{n}], a note[^{n}] and [L{n}].\n\n> 1. [l{n}]\n\n```\n[l{n}]\n```\n"))
        .collect();
    for n in 0..30 {
        text.push_str(&format!("[l{n}]: https://a.example/{n}_*x*\n"));
    }
    for n in 0..30 {
        text.push_str(&format!("[^{n}]: Note {n}\n    of [l{n}]\n"));
    }
    let mut streaming = StreamingMarkdown::default();
    for (index, c) in text.chars().enumerate() {
        streaming.push(c.encode_utf8(&mut [0; 4]));
        if index % 23 == 0 || c == '\n' {
            agree(&mut streaming, 50);
        }
    }
}

#[test]
fn colours_come_while_it_streams_and_are_those_of_the_whole() {
    let (sender, receiver) = channel();
    let highlighter = SyntaxHighlighter::new(move || sender.send(()).unwrap_or_default());
    let text = "- item\n\n```rust\nfn main() {\n    let x = \"1\";\n}\n```\n\ntext\n\n1. one\n   ```py\n   def f(): pass\n   ```\n2. two\n\n```c\nint x;\n/* open\n";
    let mut streaming = StreamingMarkdown::default();
    for part in text.split_inclusive('\n') {
        streaming.push(part);
        streaming.lines(40, &highlighter);
    }
    loop {
        let whole = render(text, 40, &highlighter);
        if whole.colours == HighlightState::Final
            && streaming.lines(40, &highlighter) == whole.lines
        {
            break;
        }
        receiver.recv_timeout(Duration::from_secs(60)).expect("all colours come");
    }
    let coloured = streaming.lines(40, &highlighter).iter().flat_map(|line| &line.spans);
    assert!(coloured.filter(|span| matches!(span.role, StyleRole::Syntax(_))).count() > 10);
}

/// Random sequences of Markdown fragments.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "text ",
        "word",
        "\n",
        "\n",
        "\n\n",
        "- ",
        "  - ",
        "1. ",
        "2) ",
        "> ",
        "# ",
        "    ",
        "  ",
        "\t",
        "```\n",
        "```rust\n",
        "~~~\n",
        "````",
        "`",
        "**",
        "*",
        "_",
        "~~",
        "| a | b |\n",
        "|---|---|\n",
        "|",
        "---\n",
        "===\n",
        "***\n",
        "[a]",
        "[a]: /x\n",
        "[b](c)",
        "![i](j)",
        "<div>\n",
        "</div>\n",
        "<!--",
        "-->",
        "<br>",
        "\\",
        "&amp;",
        "[x] ",
        "[ ] ",
        "é",
        "日本",
        "\r\n",
        "\r",
        "\u{1b}[1m",
        "<pre>\n",
        "+ ",
        "$",
        "$$\n",
        "$$",
        "\\[\n",
        "\\]\n",
        "\\(",
        "\\)",
        "> [!NOTE]\n",
        "[^1]",
        "[^1]: ",
        "[A]: <y z>\n\"t\"\n",
        "[a][]",
        "[é \n b]",
        "[É b]: /e\n\n",
        "\n\nnext [a] [^1]\n\n",
        "https://a.example/b",
        "### ",
        "#!/bin/sh\n",
        ":",
        "=",
        "-",
    ]);
    prop::collection::vec(fragment, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_in_any_parts_agrees(text in fragments(), cuts in prop::collection::vec(1usize..12, 1..60), width in 8u16..50) {
        let mut streaming = StreamingMarkdown::default();
        let mut rest = text.as_str();
        for cut in cuts {
            let end = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
            streaming.push(&rest[..end]);
            rest = &rest[end..];
            agree(&mut streaming, width);
        }
        streaming.push(rest);
        agree(&mut streaming, width);
    }

    #[test]
    fn any_text_fits_and_is_harmless(text in prop_oneof![fragments(), ".{0,60}"], width in 4u16..40) {
        for line in fresh(&text, width) {
            let columns: usize = line.spans.iter()
                .map(|span| crate::tui::layout::wrap::display_width(&span.text)).sum();
            prop_assert!(columns <= usize::from(width), "{line:?}");
            prop_assert!(line.spans.iter().all(|span| !span.text.chars().any(char::is_control)), "{line:?}");
        }
    }
}

/// A tab is four columns, so the code ends before the second line, and the formula with it.
#[test]
fn a_formula_behind_a_tab_is_the_same_in_parts() {
    let text = "\t$$\n  [x] -https://a.example/b    é日本&amp;:\\)1. ***\n[a][";
    for width in 8..50 {
        let mut streaming = StreamingMarkdown::default();
        for part in text.split_inclusive(['\n', ' ', '&']) {
            streaming.push(part);
            agree(&mut streaming, width);
        }
    }
}
