//! Every form: alone, within text, in pieces, cut off, and as an example that stays text.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str, properties: Value| ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object", "properties": properties}),
    };
    let properties = json!({
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "all": {"type": ["boolean", "null"]},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "size": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    });
    [tool("Read", properties), tool("Grep", json!({"pattern": {"type": "string"}}))].into()
}

/// The visible text, and each call as "name arguments".
fn parse<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, Vec<String>) {
    parse_with(tools(), pieces)
}

fn parse_with<'a>(
    tools: Arc<[ToolSpec]>,
    pieces: impl IntoIterator<Item = &'a str>,
) -> (String, Vec<String>) {
    let mut parser = TextToolCallParser::new(tools);
    let mut text = String::new();
    for piece in pieces {
        parser.push(piece, &mut |plain| text.push_str(plain));
    }
    let calls = parser.finish(&mut |plain| text.push_str(plain));
    let shown = |call: TextToolCall| format!("{} {}", call.name, call.input.into_text());
    (text, calls.into_iter().map(shown).collect())
}

const READ: &str = r#"Read {"path":"a.rs","limit":3}"#;
const GREP: &str = r#"Grep {"pattern":"x y"}"#;

#[test]
fn text_in_a_servers_error_is_parsed_for_calls_and_as_plain_json() {
    type RecoveredCalls = Option<(&'static str, &'static [&'static str])>;
    let table: &[(&str, RecoveredCalls)] = &[
        (r#"{"name": "Read", "arguments": {"path": "a.rs", "limit": 3}}"#, Some(("", &[READ]))),
        (
            r#"[{"name": "Read", "parameters": {"path": "a.rs", "limit": 3}},
                {"name": "Grep", "parameters": {"pattern": "x y"}}]"#,
            Some(("", &[READ, GREP])),
        ),
        (
            r#"I look. <function=Read{"path": "a.rs", "limit": 3}</function>"#,
            Some(("I look. ", &[READ])),
        ),
        (r#"{"name": "Delete", "arguments": {}}"#, None),
        (r#"`<function=Read>{"path": "a.rs"}</function>`"#, None),
        ("maybe", None),
    ];
    for (written, expected) in table {
        let rescued = TextToolCallParser::new(tools()).rescue(written);
        let shown = |call: TextToolCall| format!("{} {}", call.name, call.input.into_text());
        let rescued =
            rescued.map(|(plain, calls)| (plain, calls.into_iter().map(shown).collect::<Vec<_>>()));
        let expected = expected.map(|(plain, calls)| {
            (plain.to_owned(), calls.iter().map(|call| (*call).to_owned()).collect())
        });
        assert_eq!(rescued, expected, "{written}");
    }
}

/// One call of each form, then two calls of the forms that can hold several.
const FORMS: &[(&str, &[&str])] = &[
    (
        r#"<tool_call>{"name": "Read", "arguments": {"path": "a.rs", "limit": 3}}</tool_call>"#,
        &[READ],
    ),
    (
        "<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"path\": \"a.rs\", \"limit\": 3}}\n</tool_call>\n\
         <tool_call>\n{\"name\": \"Grep\", \"arguments\": {\"pattern\": \"x y\"}}\n</tool_call>",
        &[READ, GREP],
    ),
    (
        "<tool_call><function=Read><parameter=path>a.rs</parameter><parameter=limit>3</parameter></function></tool_call>",
        &[READ],
    ),
    (
        "<tool_call>\n<function=Read>\n<parameter=path>\na.rs\n</parameter>\n<parameter=limit>\n3\n</parameter>\n\
         </function>\n</tool_call>\n<tool_call>\n<function=Grep>\n<parameter=pattern>\nx y\n</parameter>\n\
         </function>\n</tool_call>",
        &[READ, GREP],
    ),
    (
        "<function=Read>\n<parameter=path>\na.rs\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
        &[READ],
    ),
    (r#"<function=Read>{"path": "a.rs", "limit": 3}</function>"#, &[READ]),
    (r#"<function=Read{"path": "a.rs", "limit": 3}</function>"#, &[READ]),
    (r#"<|python_tag|>{"name": "Read", "parameters": {"path": "a.rs", "limit": 3}}"#, &[READ]),
    (
        "<|python_tag|>{\"name\": \"Read\", \"parameters\": {\"path\": \"a.rs\", \"limit\": 3}}; \
         {\"name\": \"Grep\", \"parameters\": {\"pattern\": \"x y\"}}<|eom_id|>",
        &[READ, GREP],
    ),
    (
        r#"{"type": "function", "name": "Read", "parameters": {"path": "a.rs", "limit": 3}}"#,
        &[READ],
    ),
    (
        "{\"name\": \"Read\", \"arguments\": {\"path\": \"a.rs\", \"limit\": 3}}\n\
         {\n  \"name\": \"Grep\",\n  \"arguments\": {\"pattern\": \"x y\"}\n}",
        &[READ, GREP],
    ),
    (r#"[Read(path="a.rs", limit=3)]"#, &[READ]),
    ("[Read(path='a.rs', limit=3), Grep(pattern='x y')]", &[READ, GREP]),
    (
        r#"<|tool_call_start|>[Read(path="a.rs", limit=3), Grep(pattern="x y")]<|tool_call_end|>"#,
        &[READ, GREP],
    ),
    (
        "<function_calls>\nRead(path=\"a.rs\", limit=3)\nGrep(pattern=\"x y\")\n</function_calls>",
        &[READ, GREP],
    ),
    (
        r#"[TOOL_CALLS][{"name": "Read", "arguments": {"path": "a.rs", "limit": 3}}, {"name": "Grep", "arguments": {"pattern": "x y"}}]"#,
        &[READ, GREP],
    ),
    (r#"[TOOL_CALLS]Read[ARGS]{"path": "a.rs", "limit": 3}"#, &[READ]),
    (r#"[TOOL_CALLS]Read{"path": "a.rs", "limit": 3}"#, &[READ]),
    (
        r#"[TOOL_CALLS]Read[CALL_ID]abcdefghi[ARGS]{"path": "a.rs", "limit": 3}[TOOL_CALLS]Grep[ARGS]{"pattern": "x y"}</s>"#,
        &[READ, GREP],
    ),
    (
        r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.Read:0<|tool_call_argument_begin|>{"path": "a.rs", "limit": 3}<|tool_call_end|><|tool_call_begin|>functions.Grep:1<|tool_call_argument_begin|>{"pattern": "x y"}<|tool_call_end|><|tool_calls_section_end|>"#,
        &[READ, GREP],
    ),
    (
        r#"<|tool_call_begin|>functions.Read:0<|tool_call_argument_begin|>{"path": "a.rs", "limit": 3}<|tool_call_end|>"#,
        &[READ],
    ),
    (
        r#"<|open|>tools<|sep|><|open|>call tool="Read" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>a.rs<|close|>argument<|sep|><|open|>argument key="limit" type="number"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="Grep"<|sep|><|open|>argument key="pattern"<|sep|>x y<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>"#,
        &[READ, GREP],
    ),
    (
        r#"<|open|>call tool="Read"<|sep|><|open|>argument key="path"<|sep|>a.rs<|close|>argument<|open|>argument key="limit"<|sep|>3<|close|>argument<|close|>call"#,
        &[READ],
    ),
    (
        "<tool_call>Read\n<arg_key>path</arg_key>\n<arg_value>a.rs</arg_value>\n<arg_key>limit</arg_key>\n\
         <arg_value>3</arg_value>\n</tool_call>",
        &[READ],
    ),
    (
        "<tool_call>Read<arg_key>path</arg_key><arg_value>a.rs</arg_value><arg_key>limit</arg_key><arg_value>3</arg_value></tool_call><tool_call>Grep<arg_key>pattern</arg_key><arg_value>x y</arg_value></tool_call>",
        &[READ, GREP],
    ),
    (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>Read\n```json\n{\"path\": \"a.rs\", \"limit\": 3}\n```\
         <｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>Grep\n```json\n{\"pattern\": \"x y\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        &[READ, GREP],
    ),
    (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>Read<｜tool▁sep｜>{\"path\": \"a.rs\", \"limit\": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        &[READ],
    ),
    (
        "<｜tool▁call▁begin｜>Read<｜tool▁sep｜>{\"path\": \"a.rs\", \"limit\": 3}<｜tool▁call▁end｜>",
        &[READ],
    ),
    (
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"Read\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a.rs</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"limit\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"Grep\">\n\
         <｜DSML｜parameter name=\"pattern\" string=\"true\">x y</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        &[READ, GREP],
    ),
    (
        "<｜DSML｜tool_calls><｜DSML｜invoke name=\"Grep\"><｜DSML｜parameter name=\"pattern\" string=\"true\">x y</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
        &[GREP],
    ),
    (
        "<minimax:tool_call>\n<invoke name=\"Read\">\n<parameter name=\"path\">a.rs</parameter>\n<parameter name=\"limit\">3</parameter>\n\
         </invoke>\n<invoke name=\"Grep\">\n<parameter name=\"pattern\">x y</parameter>\n</invoke>\n</minimax:tool_call>",
        &[READ, GREP],
    ),
    (
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"Read\">]<]minimax[>[<path>a.rs]<]minimax[>[</path>]<]minimax[>[<limit>3]<]minimax[>[</limit>\
         ]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        &[READ],
    ),
    (
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"Grep\">]<]minimax[>[<parameter name=\"pattern\">x y]<]minimax[>[</parameter>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
        &[GREP],
    ),
    (r#"<|tool_call>call:Read{path:<|"|>a.rs<|"|>,limit:3}<tool_call|>"#, &[READ]),
    (
        "<start_function_call>call:Read{path:<escape>a.rs<escape>,limit:3}<end_function_call>\
         <start_function_call>call:Grep{pattern:<escape>x y<escape>}<end_function_call>",
        &[READ, GREP],
    ),
    (
        r#"<|channel|>commentary to=functions.Read <|constrain|>json<|message|>{"path": "a.rs", "limit": 3}<|call|>"#,
        &[READ],
    ),
    (
        r#"<|start|>assistant<|channel|>commentary to=functions.Read <|constrain|>json<|message|>{"path": "a.rs", "limit": 3}<|call|><|start|>assistant to=functions.Grep<|channel|>commentary json<|message|>{"pattern": "x y"}<|call|>"#,
        &[READ, GREP],
    ),
    (
        "<seed:tool_call>\n<function=Read>\n<parameter=path>a.rs</parameter>\n<parameter=limit>3</parameter>\n</function>\n</seed:tool_call>",
        &[READ],
    ),
    (
        "<longcat_tool_call>\n{\"name\": \"Read\", \"arguments\": {\"path\": \"a.rs\", \"limit\": 3}}\n</longcat_tool_call>",
        &[READ],
    ),
    (
        "<longcat_tool_call>Grep\n<longcat_arg_key>pattern</longcat_arg_key>\n<longcat_arg_value>x y</longcat_arg_value>\n</longcat_tool_call>",
        &[GREP],
    ),
    (
        r#"<|tool_call|>[{"name": "Read", "arguments": {"path": "a.rs", "limit": 3}}, {"name": "Grep", "arguments": {"pattern": "x y"}}]"#,
        &[READ, GREP],
    ),
    (r#"functools[{"name": "Read", "arguments": {"path": "a.rs", "limit": 3}}]"#, &[READ]),
];

#[test]
fn every_form_is_read_alone_and_among_text() {
    for (form, calls) in FORMS {
        assert_eq!(parse([*form]), (String::new(), expected(calls)), "{form}");
        let among = format!("Let me see.\n{form}\nThat is `it`.");
        let (text, found) = parse([among.as_str()]);
        assert_eq!(text, "Let me see.\n\nThat is `it`.", "{form}");
        assert_eq!(found, expected(calls), "{form}");
    }
}

fn expected(calls: &[&str]) -> Vec<String> {
    calls.iter().map(|call| (*call).to_owned()).collect()
}

#[test]
fn text_before_a_call_streams_at_once() {
    let mut parser = TextToolCallParser::new(tools());
    let mut plain = String::new();
    for (piece, so_far) in [
        ("I look <", "I look "),
        ("b> and <tool", "I look <b> and "),
        ("s>\n{", "I look <b> and <tools>\n"),
        (" \"x", "I look <b> and <tools>\n{ \"x"),
        ("\": <tool_call>{\"name\"", "I look <b> and <tools>\n{ \"x\": "),
    ] {
        parser.push(piece, &mut |text| plain.push_str(text));
        assert_eq!(plain, so_far, "{piece}");
    }
}

#[test]
fn an_example_stays_text() {
    let mut examples: Vec<String> = Vec::new();
    for (form, _) in FORMS {
        examples.push(format!("So:\n````\n{form}\n````\nDone."));
        examples.push(format!("So:\n~~~xml\n{form}\n~~~\n"));
        examples.push(format!("So:\n````\n{form}"));
        if !form.contains('`') {
            examples.push(format!("It is `{form}` then."));
        }
        if !form.contains('\n') {
            examples.push(format!("> {form}\n"));
            examples.push(format!("It is \"{form}"));
            examples.push(format!("It is '{form}"));
            examples.push(format!("It is “{form}”."));
            examples.push(format!("So:\n\n    {form}\n"));
        }
    }
    for example in examples {
        assert_eq!(parse([example.as_str()]), (example.clone(), Vec::new()));
    }
}

#[test]
fn a_tool_that_was_not_declared_is_not_called() {
    let other = ToolSpec {
        name: "Other".into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
    };
    for (form, _) in FORMS {
        if form.starts_with("{\"type\"") {
            continue;
        }
        // Separators between calls go with the call before them.
        let parsed = parse_with([other.clone()].into(), [*form]);
        assert_eq!(parsed, ((*form).to_owned(), Vec::new()));
    }
}

/// It used to end the turn as a response, and the user read JSON.
#[test]
fn an_answer_that_is_one_call_of_an_undeclared_tool_is_called() {
    let fetch = r#"{"name": "web_fetch", "arguments": {"url": "https://a.example"}}"#;
    let call = r#"web_fetch {"url":"https://a.example"}"#;
    let pretty = "\n{\n  \"type\": \"function\",\n  \"name\": \"functions.web_fetch\",\n  \"parameters\": \
                  {\"url\": \"https://a.example\"}\n}\n\n";
    for (written, said) in [(fetch, ""), (pretty, "\n")] {
        assert_eq!(parse([written]), (said.to_owned(), vec![call.to_owned()]));
        for at in 1..written.len() {
            let pieces = [&written[..at], &written[at..]];
            assert_eq!(parse(pieces), (said.to_owned(), vec![call.to_owned()]), "{at}");
        }
    }
    for text in [
        format!("The request is:\n{fetch}"),
        format!("{fetch}\nThat is how it is called."),
        format!("{fetch}\n{fetch}"),
        format!("```json\n{fetch}\n```"),
        format!("`{fetch}`"),
        "{\"name\": \"web_fetch\", \"arguments\": [1]}".into(),
        "{\"name\": \"web_fetch\", \"arguments\": {}, \"version\": 1}".into(),
        "{\"name\": \"web_fetch\", \"description\": \"\"}".into(),
        "{\"name\": \"Ada Lovelace\", \"input\": {}}".into(),
        "{\"type\": \"animal\", \"name\": \"Ada\", \"input\": {}}".into(),
    ] {
        assert_eq!(parse([text.as_str()]), (text.clone(), Vec::new()));
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let pieces = letters.iter().map(String::as_str);
        assert_eq!(parse(pieces), (text.clone(), Vec::new()));
    }
    let behind = format!("{fetch}\n{{\"name\": \"Read\", \"arguments\": {{\"path\": \"a\"}}}}");
    assert_eq!(parse([behind.as_str()]).1, [r#"Read {"path":"a"}"#]);
}

/// It used to end the turn as a response.
#[test]
fn a_call_without_its_last_brackets_is_made_or_fails() {
    let read = r#"{"name": "Read", "arguments": {"path": "a.rs", "limit": 3}"#;
    let fetch = r#"{"name": "web_fetch", "arguments": {"url": "https://a.example"}"#;
    let inner = r#"{"name": "Read", "arguments": {"path": "a.rs", "limit": 3"#;
    let nested = r#"{"name": "Read", "arguments": {"size": {"limit": 3}}"#;
    let comma = r#"{"name": "Read", "arguments": {"path": "a.rs"},"#;
    let made = (READ.to_owned(), r#"web_fetch {"url":"https://a.example"}"#.to_owned());
    for (written, said, call) in [
        (read.to_owned(), "", made.0.clone()),
        (format!("{read}\n"), "", made.0.clone()),
        (format!("I look.\n{read}"), "I look.\n", made.0),
        (fetch.to_owned(), "", made.1),
        (inner.to_owned(), "", format!("Read {inner}")),
        (nested.to_owned(), "", format!("Read {nested}")),
        (comma.to_owned(), "", format!("Read {comma}")),
    ] {
        for at in 0..written.len() {
            let pieces = [&written[..at], &written[at..]];
            assert_eq!(parse(pieces), (said.to_owned(), vec![call.clone()]), "{written} at {at}");
        }
    }
    for text in [
        format!("{read}\nThat is how it is called."),
        format!("Look:\n{fetch}"),
        format!("```json\n{read}\n```"),
        r#"{"name": "Read", "arguments": {"path": "a.r"#.to_owned(),
        r#"{"name": "Read", "version": "1", "arguments": {}"#.to_owned(),
        r#"{"name": "Read""#.to_owned(),
    ] {
        assert_eq!(parse([text.as_str()]), (text.clone(), Vec::new()));
    }
}

#[test]
fn a_call_that_breaks_off_within_its_arguments_is_never_made() {
    for (form, calls) in FORMS {
        for (at, _) in form.char_indices() {
            let (_, mut found) = parse([&form[..at]]);
            // What is not closed is no JSON, so it fails.
            found.retain(|call| !call.contains("\"name\""));
            assert!(expected(calls).starts_with(&found), "{}: {found:?}", &form[..at]);
        }
    }
}

#[test]
fn text_that_resembles_a_call_stays_text() {
    for text in [
        "<tool_call>{\"name\": \"Read\", \"arguments\": {\"path\" \"a\"}}</tool_call> so",
        "<tool_call>{\"name\": \"Read\", \"arguments\": 3}</tool_call>",
        "<tool_call> is a tag",
        "<tool_call></tool_call>",
        "<function=Read> is one, too",
        "{\"name\": \"Read\"}",
        "{\"name\": \"Read\", \"arguments\": {}, \"version\": 1}",
        "{\"name\": \"slug\", \"version\": \"1\", \"files\": []}\n",
        "It is {\"name\": \"Read\", \"arguments\": {}}",
        "[Read](a.md) says [Grep(1)]",
        "[Read(\"a.rs\")]",
        "see [TOOL_CALLS] and [this]",
        "functools is a module",
        "[TOOL_CALLS] and nothing else for so long that no call can begin any more, which is two \
         hundred and fifty bytes; and after all of these words it would be wrong to go on waiting \
         for a bracket that might still turn up some day, and so the text is said as it stands.",
        "a < b && c[0] == {",
    ] {
        assert_eq!(parse([text]), (text.to_owned(), Vec::new()));
    }
}

#[test]
fn values_in_tags_have_the_types_of_the_schema() {
    let table = [
        ("path", "3", json!("3")),
        ("path", "true", json!("true")),
        ("path", " a\n\nb ", json!(" a\n\nb ")),
        ("limit", "3", json!(3)),
        ("limit", " 3 ", json!(3)),
        ("limit", "many", json!("many")),
        ("all", "True", json!(true)),
        ("all", "null", json!(null)),
        ("lines", "[1, 2]", json!([1, 2])),
        ("size", "1.5", json!(1.5)),
        ("size", "2", json!(2)),
        ("unknown", "3", json!("3")),
    ];
    for (key, text, value) in table {
        let call = format!(
            "<tool_call><function=Read><parameter={key}>{text}</parameter></function></tool_call>"
        );
        let input = json!({ key: value });
        assert_eq!(parse([call.as_str()]).1, [format!("Read {input}")], "{key} {text}");
    }
}

#[test]
fn a_value_may_hold_the_tags_themselves() {
    let value = "a</parameter>b</function>\n</tool_call>c";
    let call = format!(
        "<tool_call>\n<function=Read>\n<parameter=path>\n{value}\n</parameter>\n</function>\n</tool_call>"
    );
    let input = json!({ "path": value });
    assert_eq!(parse([call.as_str()]), (String::new(), vec![format!("Read {input}")]));

    let call = json!({"name": "Read", "arguments": {"path": value}});
    let written = format!("<tool_call>{call}</tool_call>");
    assert_eq!(parse([written.as_str()]), (String::new(), vec![format!("Read {input}")]));
}

#[test]
fn arguments_with_a_certain_meaning_are_mended() {
    for text in [
        "<tool_call>{'name': 'Read', 'arguments': {'path': 'a.rs', 'limit': 3,}}</tool_call>",
        "<tool_call>{\"name\": \"Read\", \"arguments\": \"{\\\"path\\\": \\\"a.rs\\\", \\\"limit\\\": 3}\"}</tool_call>",
        "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"Read\", \"arguments\": {path: \"a.rs\", limit: 3}}}</tool_call>",
    ] {
        assert_eq!(parse([text]), (String::new(), expected(&[READ])), "{text}");
    }
}

#[test]
fn no_opener_begins_another() {
    for (at, one) in FAMILIES.iter().enumerate() {
        for other in FAMILIES.iter().skip(at + 1) {
            let (one, other) = (one.opener, other.opener);
            assert!(!one.starts_with(other) && !other.starts_with(one), "{one} {other}");
        }
    }
}

proptest! {
    #[test]
    fn any_split_gives_the_same(
        parts in prop::collection::vec(
            prop_oneof![
                3 => prop::sample::select(FORMS).prop_map(|(form, _)| form),
                4 => prop::sample::select(vec![
                    "\n", "\n\n", "`", "```", "\"", "'", "> ", "text ", "é", "<", "[", "{", ";",
                    "<tool_call>", "</tool_call>", "<function=", "[Read(", "[TOOL_CALLS]", "    ",
                    "{\"name\": \"", "<|tool_call", "]<]",
                ]),
            ],
            0..8,
        ),
        sizes in prop::collection::vec(1usize..24, 1..8),
    ) {
        let whole = parts.concat();
        let expected = parse([whole.as_str()]);
        let letters: Vec<String> = whole.chars().map(String::from).collect();
        prop_assert_eq!(&parse(letters.iter().map(String::as_str)), &expected);
        let mut pieces = Vec::new();
        let mut rest = letters.as_slice();
        for size in sizes.iter().cycle() {
            let (piece, behind) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece.concat());
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(&parse(pieces.iter().map(String::as_str)), &expected);
    }
}
