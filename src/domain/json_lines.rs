//! On which line each string of a JSON text stands.
//!
//! serde_json tells no positions of values it could read, and a rule or hook is shown with its
//! line. This goes over text that serde_json has accepted, so it has no errors of its own.

/// One step from a JSON value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into an object.
    Key(String),
    /// Into an array.
    Index(usize),
}

/// The line, from 1, of each value that is neither object nor array, with the way to it.
pub fn lines_of_values(text: &str) -> Vec<(Vec<Step>, usize)> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, line: 1, found: Vec::new() };
    scanner.value(&mut Vec::new());
    scanner.found
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    found: Vec<(Vec<Step>, usize)>,
}

impl Scanner<'_> {
    // serde_json accepts no more than 128 levels, which bounds the recursion.
    fn value(&mut self, way: &mut Vec<Step>) {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(way),
            Some(b'[') => self.array(way),
            Some(b'"') => {
                self.found.push((way.clone(), self.line));
                self.string();
            }
            Some(_) => {
                self.found.push((way.clone(), self.line));
                while self.peek().is_some_and(|byte| !b",]}\n".contains(&byte)) {
                    self.at += 1;
                }
            }
            None => {}
        }
        self.skip_space();
    }

    fn object(&mut self, way: &mut Vec<Step>) {
        self.at += 1;
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                break;
            }
            way.push(Step::Key(self.string()));
            self.skip_space();
            self.at += 1;
            self.value(way);
            way.pop();
            if self.peek() != Some(b',') {
                break;
            }
            self.at += 1;
        }
        self.at += 1;
    }

    fn array(&mut self, way: &mut Vec<Step>) {
        self.at += 1;
        self.skip_space();
        let mut index = 0;
        while self.peek().is_some_and(|byte| byte != b']') {
            way.push(Step::Index(index));
            self.value(way);
            way.pop();
            index += 1;
            if self.peek() != Some(b',') {
                break;
            }
            self.at += 1;
        }
        self.at += 1;
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        let source = self.bytes.get(start..self.at).unwrap_or_default();
        serde_json::from_slice(source).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek().filter(u8::is_ascii_whitespace) {
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_value_has_its_way_and_line() {
        let text = "{\n \"a\": [1,\n \"x\\\"]\", {\"b\":\nnull}],\n\n\"c\": true }";
        let key = |name: &str| Step::Key(name.into());
        assert_eq!(
            lines_of_values(text),
            [
                (vec![key("a"), Step::Index(0)], 2),
                (vec![key("a"), Step::Index(1)], 3),
                (vec![key("a"), Step::Index(2), key("b")], 4),
                (vec![key("c")], 6),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[\\[\\]{}\",:a\\\\\n ]{0,60}") {
            lines_of_values(&text);
        }
    }
}
