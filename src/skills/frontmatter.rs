//! The YAML between two lines of `---` at the head of a Markdown file.
//!
//! People write it by hand and not always as YAML wants it, so reading is lenient: where it does not
//! parse, values on one line are read as plain text. What was done about it is a problem with a line,
//! never a failure.

use serde_json::{Map, Value};

/// The most bytes of YAML that are read.
const MAX_YAML: usize = 64 << 10;

/// The fields at the head of a file, and the text below them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptFrontmatter {
    pub fields: Map<String, Value>,
    pub body: String,
    pub problems: Vec<PromptFileProblem>,
}

/// Something wrong in a file, which is used all the same as far as possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFileProblem {
    /// Counted from 1; 1 for what is about the whole file.
    pub line: usize,
    /// A phrase without a full stop.
    pub text: String,
    /// Whether the file does what its author meant all the same, against the specification.
    pub is_advice: bool,
}

impl PromptFileProblem {
    pub(super) fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), is_advice: false }
    }

    pub(super) fn advice(text: impl Into<String>) -> Self {
        Self { line: 1, text: text.into(), is_advice: true }
    }
}

impl PromptFrontmatter {
    /// Takes a file apart.
    pub fn read(text: &str) -> Self {
        let whole = |problems| Self { fields: Map::new(), body: text.to_owned(), problems };
        let mut lines = text.split_inclusive('\n');
        let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
            return whole(Vec::new());
        };
        let mut end = first.len();
        for line in lines {
            if matches!(line.trim_end(), "---" | "...") {
                let (yaml, body) = (&text[first.len()..end], &text[end + line.len()..]);
                let (fields, problems) = fields(yaml);
                return Self {
                    fields,
                    body: body.trim_start_matches(['\r', '\n']).to_owned(),
                    problems,
                };
            }
            end += line.len();
        }
        whole(vec![PromptFileProblem::new(
            1,
            "the line `---` that ends the frontmatter is missing",
        )])
    }

    /// The text of a field: of a list, its texts with commas; `None` where it is missing or empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = scalar(self.fields.get(name)?)?;
        (!text.trim().is_empty()).then(|| text.trim().to_owned())
    }

    /// The words of a field that is a list, or a text with blanks or commas between them. A blank or a
    /// comma in brackets separates nothing: `Bash(git add *)` is one word.
    pub fn words(&self, name: &str) -> Vec<String> {
        match self.fields.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
            Some(other) => scalar(other).map_or_else(Vec::new, |text| split_words(&text)),
            None => Vec::new(),
        }
    }

    /// Whether a field says yes; `None` where it is missing or says neither.
    pub fn switch(&self, name: &str) -> Option<bool> {
        match scalar(self.fields.get(name)?)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(it) => Some(it.to_string()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(scalar).collect();
            Some(texts.join(", "))
        }
        Value::Null | Value::Object(_) => None,
    }
}

fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0_usize);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(c);
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The fields of the YAML, which begins at line 2 of its file.
fn fields(yaml: &str) -> (Map<String, Value>, Vec<PromptFileProblem>) {
    if yaml.len() > MAX_YAML {
        let problem = PromptFileProblem::new(2, "the frontmatter is over 64 KB and is not read");
        return (Map::new(), vec![problem]);
    }
    let (line, why) = match parse(yaml) {
        Ok(fields) => return (fields, Vec::new()),
        Err(mistake) => mistake,
    };
    let (mended, changed) = quoted(yaml);
    match parse(&mended) {
        Ok(fields) if !changed.is_empty() => {
            let problem = |(at, key): &(usize, String)| {
                PromptFileProblem::new(
                    at + 2,
                    format!(
                        "the value of `{key}` is not valid YAML and is read as plain text: put it in quotes"
                    ),
                )
            };
            (fields, changed.iter().map(problem).collect())
        }
        Ok(_) | Err(_) => {
            let text = format!("the frontmatter is not valid YAML ({why})");
            (Map::new(), vec![PromptFileProblem::new(line + 1, text)])
        }
    }
}

/// The fields, or the line of a mistake in the YAML and what it is.
fn parse(yaml: &str) -> Result<Map<String, Value>, (usize, String)> {
    if yaml.trim().is_empty() {
        return Ok(Map::new());
    }
    // Aliases multiply what they name; nobody needs them in a few lines of fields.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_events: 20_000, max_aliases: 50 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 1000 },
    };
    match serde_saphyr::from_str_with_options::<Value>(yaml, options) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err((1, "it is no list of `key: value`".to_owned())),
        Err(error) => {
            let line = error.location().map_or(1, |location| location.line());
            let said = error.without_snippet().to_string();
            let said = said.lines().next().unwrap_or_default().trim().to_owned();
            Err((usize::try_from(line).unwrap_or(1), said))
        }
    }
}

/// The YAML with quotes around each value on a line of its own that does not parse by itself, and
/// which lines these are, counted from 0, with their keys.
fn quoted(yaml: &str) -> (String, Vec<(usize, String)>) {
    let (mut text, mut changed) = (String::with_capacity(yaml.len() + 8), Vec::new());
    for (at, line) in yaml.lines().enumerate() {
        let is_key = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        let pair =
            line.split_once(": ").filter(|(key, value)| is_key(key) && !value.trim().is_empty());
        match pair {
            Some((key, value)) if parse(line).is_err() => {
                // JSON's quotes are YAML's double quotes.
                text.push_str(&format!("{key}: {}\n", Value::from(value.trim())));
                changed.push((at, key.to_owned()));
            }
            Some(_) | None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    (text, changed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_people_write_is_read() {
        let text = "---\nname: gsd:do  # a comment\ndescription: >\n  folded\n  text\nbody: |\n  a\n  b\n\
                    flow: [Read, 'Bash(git add *)']\nlist:\n  - Read\n  - \"Edit: x\"\nquoted: 'it''s'\nlevel: 4\n\
                    on: yes\n---\n\n# Title\n---\n";
        let read = PromptFrontmatter::read(text);
        assert_eq!(read.problems, []);
        assert_eq!(read.text("name").as_deref(), Some("gsd:do"));
        assert_eq!(read.text("description").as_deref(), Some("folded text"));
        assert_eq!(read.text("body").as_deref(), Some("a\nb"));
        assert_eq!(read.words("flow"), ["Read", "Bash(git add *)"]);
        assert_eq!(read.words("list"), ["Read", "Edit: x"]);
        assert_eq!(read.text("quoted").as_deref(), Some("it's"));
        assert_eq!(read.text("level").as_deref(), Some("4"));
        assert_eq!(read.switch("on"), Some(true));
        assert_eq!(read.body, "# Title\n---\n");
    }

    #[test]
    fn words_are_separated_by_blanks_and_commas_outside_of_brackets() {
        let read =
            PromptFrontmatter::read("---\nallowed-tools: Bash(git add:*), Read Edit,Grep\n---\n");
        assert_eq!(read.words("allowed-tools"), ["Bash(git add:*)", "Read", "Edit", "Grep"]);
    }

    #[test]
    fn a_value_that_is_no_yaml_is_read_as_text_and_its_line_is_named() {
        let text = "---\nname: x\ndescription: Use when: the user asks\nargument-hint: [issue] [pr]\n---\nbody";
        let read = PromptFrontmatter::read(text);
        assert_eq!(read.text("description").as_deref(), Some("Use when: the user asks"));
        assert_eq!(read.text("argument-hint").as_deref(), Some("[issue] [pr]"));
        let lines: Vec<usize> = read.problems.iter().map(|it| it.line).collect();
        assert_eq!(lines, [3, 4]);
        assert!(read.problems[0].text.contains("`description` is not valid YAML"));
    }

    #[test]
    fn hopeless_yaml_is_one_problem_with_its_line() {
        for text in ["---\nname: x\n  bad: [\n---\nbody", "---\n- a\n- b\n---\nbody"] {
            let read = PromptFrontmatter::read(text);
            assert_eq!((read.fields.len(), read.problems.len()), (0, 1), "{text}: {read:?}");
            assert_eq!(read.body, "body");
        }
        let open = PromptFrontmatter::read("---\nname: x\n");
        assert!(open.problems[0].text.contains("is missing") && open.fields.is_empty());
        assert_eq!(PromptFrontmatter::read("text\n---\n").body, "text\n---\n");
    }

    #[test]
    fn a_bomb_of_aliases_is_not_unfolded() {
        let mut yaml = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for at in 1..20 {
            let before = format!("*a{}, ", at - 1).repeat(10);
            yaml.push_str(&format!("a{at}: &a{at} [{before}]\n"));
        }
        yaml.push_str("---\nbody");
        let read = PromptFrontmatter::read(&yaml);
        let bytes = Value::Object(read.fields).to_string().len();
        assert!(bytes < 20_000 && !read.problems.is_empty(), "{bytes} bytes, {:?}", read.problems);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(---\n)?[ -~é\n\t:\\[\\]{}&*|>'\"#-]{0,200}(\n---\n)?.{0,20}") {
            let read = PromptFrontmatter::read(&text);
            prop_assert!(text.ends_with(&read.body));
        }
    }
}
