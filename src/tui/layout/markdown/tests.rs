//! Tests of Markdown as it appears on the screen, and of the rule of streaming: for every prefix of
//! a text, laid out as it grew or at once, the lines are the same.

mod corpus;
mod properties;

use super::*;
use crate::tui::layout::{StyleRole, StyledLine};

fn text(line: &StyledLine) -> String {
    line.spans.iter().map(|span| span.text.as_str()).collect()
}

/// The lines of the screen, without trailing spaces.
fn shown(source: &str, width: u16) -> String {
    let lines = render(source, width, &SyntaxHighlighter::off()).lines;
    lines.iter().map(|line| text(line).trim_end().to_owned() + "\n").collect()
}

fn role_of(source: &str, part: &str) -> StyleRole {
    let lines = render(source, 80, &SyntaxHighlighter::off()).lines;
    let mut spans = lines.iter().flat_map(|line| &line.spans);
    let span = spans.find(|span| span.text.contains(part));
    span.unwrap_or_else(|| panic!("{part:?} in {lines:?}")).role
}

#[test]
fn blocks_stand_one_blank_line_apart() {
    let source =
        "# Title\nText that\nflows.\n\n\n\n- one\n- two\n\n> quote\n***\nSetext\n------\nend";
    insta::assert_snapshot!(shown(source, 30), @r"
    Title

    Text that flows.

    • one
    • two

    ▌ quote

    ──────────────────────────────

    Setext

    end
    ");
}

#[test]
fn lists_nest_and_are_as_loose_as_they_are_written() {
    let source = "1. one\n   - a\n   - b\n     1. deep\n2. two\n\n   more of two\n\n3. three\n9. four\n\n- [x] done\n- [ ] open\n1) other\n";
    insta::assert_snapshot!(shown(source, 30), @r"
    1. one
       ◦ a
       ◦ b
         1. deep
    2. two

       more of two

    3. three
    4. four

    [x] done
    [ ] open

    1) other
    ");
}

#[test]
fn text_hangs_under_its_marker() {
    let source = "- a long item that wraps\n  - another long one in it\n";
    insta::assert_snapshot!(shown(source, 16), @r"
    • a long item
      that wraps
      ◦ another long
        one in it
    ");
}

#[test]
fn code_has_a_bar_and_its_language() {
    let source =
        "Run:\n```sh\ncargo test\n\n\tls\n```\n\n    indented\n\n- item\n  ```\n  in item\n  ```\n";
    insta::assert_snapshot!(shown(source, 30), @r"
    Run:

    ╭ sh
    │ cargo test
    │
    │     ls

    │ indented

    • item
      │ in item
    ");
}

/// A small model puts a call behind the fence, and nothing below it.
#[test]
fn what_stands_behind_a_fence_without_code_is_in_sight() {
    let source = "```json {\"name\": \"Read\"}";
    assert!(shown(source, 40).contains("{\"name\": \"Read\"}"), "{}", shown(source, 40));
    let with_code = shown("```json title=a\n[1]\n```", 40);
    assert!(with_code.contains("[1]") && !with_code.contains("title"), "{with_code}");
}

#[test]
fn code_breaks_between_words() {
    insta::assert_snapshot!(shown("```\nlet x = abcdef;\n```", 10), @r"
    │ let x =
    │ abcdef;
    ");
}

#[test]
fn quotes_have_a_bar_on_every_line() {
    let source = "> a quote that is long\n>\n> - item\n>   > inner\n";
    insta::assert_snapshot!(shown(source, 14), @r"
    ▌ a quote that
    ▌ is long
    ▌
    ▌ • item
    ▌   ▌ inner
    ");
}

const TABLE: &str = "| Name | Count | Note |\n|:--|--:|:-:|\n| apple | 5 | fresh from the tree |\n| fig | 12 | x |\n";

#[test]
fn tables_align_their_columns() {
    insta::assert_snapshot!(shown(TABLE, 60), @r"
    Name  │ Count │        Note
    ──────┼───────┼────────────────────
    apple │     5 │ fresh from the tree
    fig   │    12 │          x
    ");
}

#[test]
fn tables_shrink_and_wrap() {
    insta::assert_snapshot!(shown(TABLE, 28), @r"
    Name  │ Count │     Note
    ──────┼───────┼─────────────
    apple │     5 │  fresh from
          │       │   the tree
    ──────┼───────┼─────────────
    fig   │    12 │      x
    ");
}

#[test]
fn tables_become_records_where_nothing_else_fits() {
    insta::assert_snapshot!(shown(TABLE, 14), @r"
    Name: apple
    Count: 5
    Note: fresh
      from the
      tree
    ──────────────
    Name: fig
    Count: 12
    Note: x
    ");
}

#[test]
fn s82_links_and_images_show_the_whole_address() {
    let source = "[docs](https://evil.example/?q=1) <https://a.example> [m@a.b](mailto:m@a.b) [a][r] ![pic](http://i/x.png) ![](y)\n\n[r]: /local 'title'";
    insta::assert_snapshot!(shown(source, 120), @"docs (https://evil.example/?q=1) https://a.example m@a.b a (/local) [image: pic] http://i/x.png [image] y");
}

/// The text and address of each link that can be clicked.
fn clickable(source: &str) -> Vec<(String, String)> {
    let lines = render(source, 200, &SyntaxHighlighter::off()).lines;
    let spans = lines.into_iter().flat_map(|line| line.spans);
    let link =
        |span: crate::tui::layout::StyledSpan| Some((span.text, span.link?.address().to_owned()));
    spans.filter_map(link).collect()
}

#[test]
fn only_what_leads_to_the_web_can_be_clicked() {
    let pair = |text: &str, address: &str| (text.to_owned(), address.to_owned());
    assert_eq!(
        clickable("[a](https://a.example/x) [b](/local) [c](javascript:alert(1)) <m@d.example> e"),
        [pair("a", "https://a.example/x"), pair("https://a.example/x", "https://a.example/x")]
    );
    assert_eq!(
        clickable("see http://a.example/b_c_d, **not** `x` but `https://e.example`"),
        [
            pair("http://a.example/b_c_d", "http://a.example/b_c_d"),
            pair("https://e.example", "https://e.example")
        ]
    );
    assert_eq!(
        clickable("![i](https://a.example/i.png)"),
        [pair("https://a.example/i.png", "https://a.example/i.png")]
    );
}

#[test]
fn s82_no_text_hides_where_it_leads() {
    assert_eq!(
        shown("[https://bank.example](https://evil.example/login)", 80),
        "https://bank.example (https://evil.example/login)\n"
    );
    assert_eq!(role_of("[https://bank.example](https://evil.example)", "evil"), StyleRole::Warning);
    assert_eq!(role_of("[docs](https://a.example)", "a.example"), StyleRole::Link);
    assert_eq!(shown("[a.example/x](https://a.example/x)", 80), "a.example/x\n");
    let long = format!("[a](https://a.example/{})", "x".repeat(5_000));
    assert_eq!(clickable(&long), []);
    assert!(shown(&long, 80).matches('x').count() >= 5_000);
}

#[test]
fn alerts_have_their_word_and_bar() {
    let source =
        "> [!NOTE]\n> Read *this*.\n>\n> - and\n\n> [!caution]\n> Hot.\n\n> [!NONE]\n> quote\n";
    insta::assert_snapshot!(shown(source, 30), @r"
    ▌ Note
    ▌ Read this.
    ▌
    ▌ • and

    ▌ Caution
    ▌ Hot.

    ▌ [!NONE] quote
    ");
    for (kind, word, role) in [
        ("NOTE", "Note", StyleRole::Heading(2)),
        ("TIP", "Tip", StyleRole::Success),
        ("IMPORTANT", "Important", StyleRole::Tool),
        ("WARNING", "Warning", StyleRole::Warning),
        ("CAUTION", "Caution", StyleRole::Error),
    ] {
        let source = format!("> [!{kind}]\n> text\n");
        for part in [word, "▌"] {
            assert_eq!(role_of(&source, part), role, "{part}");
        }
        assert_eq!(role_of(&source, "text"), StyleRole::Text);
    }
}

#[test]
fn footnotes_stand_where_they_were_written() {
    let source = "A claim[^1] and[^two]; [^none].\n\n[^1]: The note, long enough\n    to wrap.\n[^two]: Two.\n\n    More.\n\nafter\n";
    insta::assert_snapshot!(shown(source, 24), @r"
    A claim[1] and[two];
    [^none].

    [1] The note, long
        enough to wrap.
    [two] Two.

          More.

    after
    ");
}

#[test]
fn formulas_are_shown_in_unicode() {
    for source in
        [r"so $a_1 * b_1 \le 2$ is", r"so \(a_1 * b_1 \le 2\) is", r"so \[a_1*b_1\le 2\] is"]
    {
        assert_eq!(shown(source, 60), "so a₁ * b₁ ≤ 2 is\n", "{source}");
    }
    let source = "\\[\nx = \\frac{a}{b}\n- y \\\\\nz\n\\]\n\n> $$\n> \\sum_{i=1}^{n} i\n> $$\n";
    assert_eq!(shown(source, 60), "x = a/b − y\nz\n\n▌ ∑ᵢ₌₁ⁿ i\n");
    assert_eq!(shown("| $x^2$ |\n|---|\n| \\(\\pi\\) |", 60).matches(['²', 'π']).count(), 2);
    assert_eq!(role_of(r"so \(a\)", "a"), StyleRole::Code);
}

#[test]
fn what_is_no_formula_or_has_no_form_stays_as_it_is_written() {
    for source in [
        "from $5 to $6, or $7-$8, or $5/$6/$7, US$5/A$",
        "$HOME and $PATH, $HOME:$PATH, $HOME/${USER}, $HOME or bin$",
        "5$-10$, note \\[1\\], any of \\[a-z\\], sed's \\(foo\\) and \\(1\\)",
        r"so $\unclosed{a$ is, $\frac{a}$",
        "\\[\nx_1\n\\frac{a}",
    ] {
        assert_eq!(shown(source, 80), format!("{source}\n"));
    }
    assert_eq!(role_of("$5-$10", "$5-$10"), StyleRole::Text);
    assert_eq!(shown("$5 or $10, and `$HOME` or *$x$*", 60), "$5 or $10, and $HOME or x\n");
    assert_eq!(role_of("$5 or $10, and `$HOME`", "$HOME"), StyleRole::Code);
    assert_eq!(shown("`\\(` and `\\)` in `\\(code\\)`", 60), "\\( and \\) in \\(code\\)\n");
    assert_eq!(shown("```\n\\[ *a*\n```", 60), "│ \\[ *a*\n");
}

#[test]
fn a_formula_stands_for_all_of_its_source() {
    for source in ["so $a=b$ is", r"so \(\alpha + \beta\) is", "so\n\n$$\na \\\\\nb\n$$"] {
        let lines = render(source, 12, &SyntaxHighlighter::off()).lines;
        let formula = source.find(['$', '\\']).unwrap();
        let runs: Vec<_> = lines.iter().flat_map(|line| &line.runs).collect();
        let parts = runs.iter().filter(|run| run.range().end > formula && run.source <= formula);
        assert!(parts.clone().count() > 0, "{source}");
        let whole = source[formula..].trim_end_matches(" is").len();
        for run in parts {
            assert_eq!((run.source, run.bytes), (formula, whole), "{source}");
        }
        assert!(lines.windows(2).all(|pair| pair[0].source <= pair[1].source), "{source}");
    }
}

#[test]
fn a_megabyte_of_formulas_is_laid_out() {
    for part in ["$x^{a_b}$ ", r"\(\frac{a}{b}\) ", "\\(", "$$\n\\[\n", "$\\sqrt{", "$$a$$\n\n"] {
        let source = part.repeat(1_000_000 / part.len());
        let lines = render(&source, 80, &SyntaxHighlighter::off()).lines;
        assert!(!lines.is_empty());
    }
}

#[test]
fn small_headings_stand_close_to_their_text() {
    let source = "## Far\ntext\n### Close\n#### Closer\ntext\n\n- ### item\n\n  text\n\n> ### quoted\n> text\n";
    insta::assert_snapshot!(shown(source, 30), @r"
    Far

    text

    Close
    Closer
    text

    • item
      text

    ▌ quoted
    ▌ text
    ");
}

#[test]
fn long_lines_of_code_go_on_behind_a_mark() {
    let source = "```\n  let total = lines.iter().sum();\n```";
    insta::assert_snapshot!(shown(source, 30), @r"
    │   let total =
    │   ↳ lines.iter().sum();
    ");
    let lines = render(source, 30, &SyntaxHighlighter::off()).lines;
    assert_eq!(lines.iter().map(|line| line.gutter).collect::<Vec<_>>(), [2, 6]);
}

#[test]
fn code_that_nobody_named_is_guessed() {
    let diff = "```\ndiff --git a/x b/x\n+new\n```";
    assert_eq!(role_of(diff, "+new"), StyleRole::Added);
    assert_eq!(role_of("    @@ -1 +1 @@\n    -old\n", "-old"), StyleRole::Removed);
    assert_eq!(shown(diff, 30), "│ diff --git a/x b/x\n│ +new\n");
}

#[test]
fn columns_of_tables_keep_their_words() {
    let source = "| Path | What |\n|-|-|\n| src/tui/runtime | takes in everything that has arrived and draws at most once |\n";
    insta::assert_snapshot!(shown(source, 44), @r"
    Path            │ What
    ────────────────┼───────────────────────────
    src/tui/runtime │ takes in everything that
                    │ has arrived and draws at
                    │ most once
    ");
}

#[test]
fn text_in_a_line_has_its_roles() {
    let source = "a **b** *c* ***d*** `e` ~~f~~ [g](h) <u>i\n\n> j\n\n## k `l`\n\n|m|\n|-|\n|n|\n";
    for (part, role) in [
        ("a ", StyleRole::Text),
        ("b", StyleRole::Strong),
        ("c", StyleRole::Emphasis),
        ("d", StyleRole::StrongEmphasis),
        ("e", StyleRole::Code),
        ("f", StyleRole::Strikethrough),
        ("g", StyleRole::Link),
        ("<u>", StyleRole::Muted),
        ("j", StyleRole::Quote),
        ("k ", StyleRole::Heading(2)),
        ("l", StyleRole::Code),
        ("m", StyleRole::Strong),
        ("n", StyleRole::Text),
    ] {
        assert_eq!(role_of(source, part), role, "{part}");
    }
    assert_eq!(role_of("```diff\n+new\n-old\n```", "+new"), StyleRole::Added);
}

#[test]
fn breaks_are_kept_where_they_are_meant() {
    assert_eq!(shown("a  \nb\\\nc\nd<br>e", 20), "a\nb\nc d\ne\n");
}

#[test]
fn html_is_text() {
    assert_eq!(role_of("<p>\ntext <b>bold</b>\n</p>", "text"), StyleRole::Text);
    assert_eq!(role_of("<p>\ntext <b>bold</b>\n</p>", "<b>"), StyleRole::Muted);
    assert_eq!(
        shown("<div onclick=x>\nhi\n</div>\n\na <b>c</b>", 40),
        "<div onclick=x>\nhi\n</div>\n\na <b>c</b>\n"
    );
}

#[test]
fn entities_cannot_name_what_must_not_be_shown() {
    assert_eq!(shown("a&#27;[2J &#x202E;b\n\n```&#27;x\n```", 40), "a␛[2J ‹U+202E›b\n\n╭ ␛x\n│\n");
    assert_eq!(role_of("a&#27;", "␛"), StyleRole::Escaped);
}

#[test]
fn line_ends_of_windows_are_line_ends() {
    assert_eq!(
        shown("# a\r\n\r\n```\r\nb\r\n\r\nc\r\n```\r\n- d\r\n\r\n- e\r\n", 40),
        "a\n\n│ b\n│\n│ c\n\n• d\n\n• e\n"
    );
}

/// Nested deeper than any stack would allow if the renderer followed it with calls.
#[test]
fn nesting_of_any_depth_is_laid_out() {
    let deep = 10_000;
    for (open, close) in [
        (">", ""),
        ("- ", ""),
        ("1. ", ""),
        ("[", "]"),
        ("![", "](x)"),
        ("*a ", "*"),
        ("~~", "~~"),
        ("`", "`"),
        ("<b>", "</b>"),
        ("\\(", "\\)"),
        ("$", "$"),
        ("|", "|"),
    ] {
        let text = format!("{}x{}\n", open.repeat(deep), close.repeat(deep));
        let mut streaming = StreamingMarkdown::default();
        streaming.push(&text);
        let off = SyntaxHighlighter::off();
        assert!(!streaming.lines(40, &off).is_empty(), "{open}");
        assert_eq!(streaming.lines(40, &off), render(&text, 40, &off).lines, "{open}");
    }
}

#[test]
fn deep_nesting_leaves_room_for_text() {
    let source: String = (0..30).map(|depth| " ".repeat(depth * 2) + "- level\n").collect();
    let shown = shown(&source, 20);
    assert_eq!(shown.lines().filter(|line| line.contains("level")).count(), 30);
}

#[test]
fn sources_lead_back_to_the_text() {
    let source =
        "# One\n\nTwo *three*\n\n- four\n\n```rust\nfive\nsix\n```\n\n|seven|\n|-|\n|eight|\n";
    let lines = render(source, 40, &SyntaxHighlighter::off()).lines;
    for line in &lines {
        let text = text(line);
        let Some(word) = text
            .split(|c: char| !c.is_ascii_lowercase() && c != 'O' && c != 'T')
            .find(|word| word.len() > 2)
        else {
            continue;
        };
        let found = source[line.source..].find(word);
        assert!(found.is_some_and(|at| at <= 4), "{word} at {} in {lines:?}", line.source);
    }
}
