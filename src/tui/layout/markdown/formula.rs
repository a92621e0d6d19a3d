//! Writes a formula in Unicode: `\frac{a}{b} \le x_1^2` is shown as `a/b ≤ x₁²`.
//!
//! As in TeX, the spaces of a formula do not count, and the kinds of its signs decide where spaces
//! stand. What has no form here stays as its source: a command that is not known with its
//! arguments, a formula that is not closed, is nested deeper than [`DEEPEST`] or is longer than
//! [`LONGEST`]. Where formulas are found is the business of [`super::math`].

mod symbols;
#[cfg(test)]
mod tests;

use self::symbols::SignClass;

/// Groups inside of each other; the reader calls itself for each.
const DEEPEST: usize = 24;
/// In bytes. The work for a formula is at most this times [`DEEPEST`].
const LONGEST: usize = 4096;

/// The body of a formula, without the signs around it, as it can be read. Rows are separated by
/// line feeds. `None` if it has to stay as its source.
pub(super) fn readable(body: &str) -> Option<String> {
    if body.len() > LONGEST {
        return None;
    }
    let mut reader = FormulaReader { text: body, at: 0, depth: 0 };
    let written = reader.sequence(GroupEnd::Formula, RowBreak::Line, false)?;
    let rows: Vec<&str> = written.split('\n').map(str::trim_end).collect();
    let shown = rows.join("\n");
    let shown = shown.trim_matches('\n').trim();
    (!shown.is_empty()).then(|| shown.to_owned())
}

/// What ends a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupEnd {
    Formula,
    Brace,
    Bracket,
    Environment,
}

/// What `\\` is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowBreak {
    Line,
    /// In a matrix, which stays on its line.
    Semicolon,
}

struct FormulaReader<'f> {
    text: &'f str,
    at: usize,
    depth: usize,
}

impl<'f> FormulaReader<'f> {
    /// Reads up to `end`, and past it. `None` if the end is missing or something cannot be read.
    fn sequence(&mut self, end: GroupEnd, rows: RowBreak, is_script: bool) -> Option<String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut out = FormulaText::new(is_script);
        loop {
            let Some(c) = self.next() else {
                self.depth -= 1;
                return (end == GroupEnd::Formula).then_some(out.text);
            };
            match c {
                '}' if end == GroupEnd::Brace => break,
                ']' if end == GroupEnd::Bracket => break,
                '}' => return None,
                '{' => {
                    let group = self.sequence(GroupEnd::Brace, rows, is_script)?;
                    out.push(SignClass::Ordinary, &group);
                }
                '^' | '_' => self.script(c, &mut out)?,
                '\\' if self.rest().starts_with("end{") => {
                    if end != GroupEnd::Environment {
                        return None;
                    }
                    break;
                }
                '\\' => self.command(rows, &mut out)?,
                '&' => out.column(rows),
                '%' | '#' => return None,
                c if c.is_whitespace() => self.space(&mut out),
                c => self.character(c, &mut out),
            }
        }
        self.depth -= 1;
        Some(out.text)
    }

    fn rest(&self) -> &'f str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Spaces count only between words, which TeX would not write without a command.
    fn space(&mut self, out: &mut FormulaText) {
        self.skip_spaces();
        let letters = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_alphabetic()).count();
        let before = out.text.as_bytes().iter().rev().take(2);
        let before = letters(&before.copied().collect::<Vec<_>>());
        let after = letters(&self.rest().as_bytes()[..self.rest().len().min(2)]);
        if before > 0 && after > 0 && before + after > 2 {
            out.space = true;
        }
    }

    fn character(&mut self, c: char, out: &mut FormulaText) {
        let next = self.rest().chars().next();
        let class = match c {
            '+' | '-' | '*' => SignClass::Binary,
            '=' | '<' | '>' | ':' => SignClass::Relation,
            '(' | '[' => SignClass::Opening,
            ')' | ']' | '!' => SignClass::Closing,
            // No space in `10,000`.
            ',' if out.ends_in_digit() && next.is_some_and(|c| c.is_ascii_digit()) => {
                SignClass::Ordinary
            }
            ',' | ';' => SignClass::Punctuation,
            _ => SignClass::Ordinary,
        };
        match c {
            '-' => out.push(class, "−"),
            '\'' => out.push(class, "′"),
            '~' => out.space = true,
            c => out.push(class, c.encode_utf8(&mut [0; 4])),
        }
    }

    /// Reads what stands above or below the line.
    fn script(&mut self, sign: char, out: &mut FormulaText) -> Option<()> {
        let inner = self.argument(true)?;
        let raised = match sign {
            '^' => symbols::superscript(&inner),
            _ => symbols::subscript(&inner),
        };
        if let Some(raised) = raised {
            out.attach(&raised);
        } else {
            out.attach(sign.encode_utf8(&mut [0; 4]));
            out.attach(&if inner.chars().count() > 1 { format!("({inner})") } else { inner });
        }
        Some(())
    }

    /// Reads a group, a command or one character.
    fn argument(&mut self, is_script: bool) -> Option<String> {
        self.skip_spaces();
        match self.next()? {
            '{' => self.sequence(GroupEnd::Brace, RowBreak::Semicolon, is_script),
            '\\' => {
                let mut out = FormulaText::new(is_script);
                self.depth += 1;
                if self.depth > DEEPEST {
                    return None;
                }
                self.command(RowBreak::Semicolon, &mut out)?;
                self.depth -= 1;
                Some(out.text)
            }
            '}' | '&' | '^' | '_' | '%' | '#' => None,
            c => {
                let mut out = FormulaText::new(is_script);
                self.character(c, &mut out);
                Some(out.text)
            }
        }
    }

    /// The source of a group in braces, without them.
    fn verbatim(&mut self) -> Option<&'f str> {
        self.skip_spaces();
        let text = self.rest().strip_prefix('{')?;
        let mut open = 1_usize;
        let mut bytes = text.bytes().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => {
                    bytes.next();
                }
                b'{' => open += 1,
                b'}' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.at += at + 2;
                return Some(&text[..at]);
            }
        }
        None
    }

    fn command(&mut self, rows: RowBreak, out: &mut FormulaText) -> Option<()> {
        let from = self.at;
        let letters = self.rest().bytes().take_while(u8::is_ascii_alphabetic).count();
        if letters == 0 {
            return self.sign_command(rows, out);
        }
        let name = &self.rest()[..letters];
        self.at += letters;
        if let Some((class, sign)) = symbols::sign(name) {
            // `bmod` alone is shown by another name.
            out.push(class, if sign == "bmod" { "mod" } else { sign });
            return Some(());
        }
        match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                let over = self.argument(out.is_script)?;
                let under = self.argument(out.is_script)?;
                let fraction = format!("{}/{}", bracketed(&over), bracketed(&under));
                out.push(SignClass::Ordinary, &fraction);
            }
            "binom" | "dbinom" | "tbinom" => {
                let (from, take) = (self.argument(true)?, self.argument(true)?);
                out.push(SignClass::Ordinary, &format!("C({from}, {take})"));
            }
            "sqrt" => self.root(out)?,
            "text" | "textbf" | "textit" | "textrm" | "texttt" | "textsf" | "mbox" => {
                let text = self.verbatim().filter(|text| !text.contains(['\\', '$', '{']))?;
                out.text(text);
            }
            "operatorname" => {
                let name = self.argument(true)?;
                out.push(SignClass::Function, &name);
            }
            "mathrm" | "mathbf" | "mathit" | "mathsf" | "mathtt" | "boldsymbol" | "bm" => {
                let inner = self.argument(out.is_script)?;
                out.push(SignClass::Ordinary, &inner);
            }
            "boxed" => {
                let inner = self.argument(false)?;
                out.push(SignClass::Ordinary, &format!("[{inner}]"));
            }
            "pmod" => {
                let inner = self.argument(true)?;
                out.space = true;
                out.push(SignClass::Ordinary, &format!("(mod {inner})"));
            }
            "tag" => {
                let tag = self.verbatim()?;
                out.space = true;
                out.push(SignClass::Ordinary, &format!("({tag})"));
            }
            "left" | "right" | "middle" => self.delimiter(name, out)?,
            "not" => self.negation(out)?,
            "begin" => self.environment(out)?,
            "quad" | "qquad" => out.wide_space(),
            // How large something is set is not shown.
            "displaystyle" | "textstyle" | "limits" | "nolimits" | "nonumber" | "big" | "Big"
            | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr" | "biggl" | "biggr" | "hline" => {
            }
            _ => self.other(name, from, out)?,
        }
        Some(())
    }

    /// A command whose name is no letter.
    fn sign_command(&mut self, rows: RowBreak, out: &mut FormulaText) -> Option<()> {
        match self.next()? {
            '\\' => {
                // The distance to the next row.
                if let Some((_, rest)) =
                    self.rest().strip_prefix('[').and_then(|it| it.split_once("pt]"))
                {
                    self.at = self.text.len() - rest.len();
                }
                out.row(rows);
            }
            ',' | ':' | ';' | '>' | ' ' | '\n' => out.space = true,
            '!' => {}
            '{' => out.push(SignClass::Opening, "{"),
            '}' => out.push(SignClass::Closing, "}"),
            '|' => out.push(SignClass::Ordinary, "‖"),
            c @ ('$' | '%' | '&' | '#' | '_') => {
                out.push(SignClass::Ordinary, c.encode_utf8(&mut [0; 4]));
            }
            _ => return None,
        }
        Some(())
    }

    /// An accent, letters in a style, or a command that is not known, which stays as its source.
    fn other(&mut self, name: &str, from: usize, out: &mut FormulaText) -> Option<()> {
        let after = self.at;
        if let Some(mark) = symbols::accent(name) {
            let inner = self.argument(true)?;
            // A line can stand over each character of a word, a hat cannot.
            if inner.chars().count() == 1 || matches!(mark, '\u{305}' | '\u{332}') {
                let marked: String = inner.chars().flat_map(|c| [c, mark]).collect();
                out.push(SignClass::Ordinary, &marked);
                return Some(());
            }
        } else if matches!(name, "mathbb" | "mathcal" | "mathscr" | "mathfrak") {
            let inner = self.argument(true)?;
            if let Some(styled) = symbols::styled(name, &inner) {
                out.push(SignClass::Ordinary, &styled);
                return Some(());
            }
        }
        self.at = after;
        while self.rest().starts_with('{') {
            self.verbatim()?;
        }
        let source = &self.text[from - 1..self.at];
        out.push(SignClass::Function, &source.replace('\n', " "));
        Some(())
    }

    fn root(&mut self, out: &mut FormulaText) -> Option<()> {
        self.skip_spaces();
        let mut sign = "√".to_owned();
        if self.rest().starts_with('[') {
            self.at += 1;
            let degree = self.sequence(GroupEnd::Bracket, RowBreak::Semicolon, true)?;
            sign = match degree.as_str() {
                "2" => "√".into(),
                "3" => "∛".into(),
                "4" => "∜".into(),
                other => format!("{}√", symbols::superscript(other)?),
            };
        }
        let inner = self.argument(out.is_script)?;
        out.push(SignClass::Ordinary, &(sign + &bracketed(&inner)));
        Some(())
    }

    /// The bracket after `\left` and `\right`; a dot is none.
    fn delimiter(&mut self, side: &str, out: &mut FormulaText) -> Option<()> {
        self.skip_spaces();
        let class = match side {
            "left" => SignClass::Opening,
            "right" => SignClass::Closing,
            _ => SignClass::Relation,
        };
        match self.next()? {
            '.' => {}
            '\\' => {
                let mut bracket = FormulaText::new(true);
                self.command(RowBreak::Semicolon, &mut bracket)?;
                out.push(class, &bracket.text);
            }
            c if c.is_ascii_punctuation() => out.push(class, c.encode_utf8(&mut [0; 4])),
            _ => return None,
        }
        Some(())
    }

    fn negation(&mut self, out: &mut FormulaText) -> Option<()> {
        let sign = self.argument(true)?;
        let negated = match sign.as_str() {
            "=" => "≠".into(),
            "∈" => "∉".into(),
            "≡" => "≢".into(),
            "⊂" => "⊄".into(),
            "∃" => "∄".into(),
            other => format!("{other}\u{338}"),
        };
        out.push(SignClass::Relation, &negated);
        Some(())
    }

    fn environment(&mut self, out: &mut FormulaText) -> Option<()> {
        let name = self.verbatim()?;
        let matrix = symbols::matrix(name);
        let known = ["align", "aligned", "gather", "gathered", "split", "equation", "multline"];
        if matrix.is_none() && !known.contains(&name.trim_end_matches('*')) {
            return None;
        }
        if name == "array" {
            self.verbatim()?;
        }
        let rows = if matrix.is_some() { RowBreak::Semicolon } else { RowBreak::Line };
        let body = self.sequence(GroupEnd::Environment, rows, false)?;
        self.at += "end".len();
        if self.verbatim()? != name {
            return None;
        }
        let body = body.trim().trim_end_matches(';').trim_end();
        let (open, close) = matrix.unwrap_or_default();
        out.push(SignClass::Ordinary, &format!("{open}{body}{close}"));
        Some(())
    }
}

/// A part of a fraction or a root: in brackets, unless it reads as one.
fn bracketed(text: &str) -> String {
    let is_one = |c: char| c.is_alphanumeric() || matches!(c, '.' | '′' | '∞' | '∂' | '∇' | '√');
    let is_mark = |c: char| matches!(c, '\u{300}'..='\u{36f}' | '\u{20d7}');
    let is_script = |c: char| matches!(c, '⁰'..='₎') || matches!(c, '²' | '³' | '¹');
    if text.chars().all(|c| is_one(c) || is_mark(c) || is_script(c)) {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// The text of a sequence, and what decides on the next space.
struct FormulaText {
    text: String,
    /// The class of the last sign.
    last: Option<SignClass>,
    /// Whether a space is due before the next sign.
    space: bool,
    /// Scripts are written without spaces.
    is_script: bool,
}

impl FormulaText {
    fn new(is_script: bool) -> Self {
        Self { text: String::new(), last: None, space: false, is_script }
    }

    fn push(&mut self, class: SignClass, sign: &str) {
        use SignClass::{Binary, Closing, Function, Opening, Ordinary, Punctuation, Relation};
        let is_operand = matches!(self.last, Some(Ordinary | Closing));
        // Without a left operand a sign belongs to the right one.
        let class = if class == Binary && !is_operand { Opening } else { class };
        let before = match class {
            Binary | Relation => self.last.is_some(),
            Function => is_operand || self.last == Some(Function),
            Ordinary => self.last == Some(Function),
            Opening | Closing | Punctuation => false,
        };
        let suppressed = matches!(class, Closing | Punctuation) || self.last == Some(Opening);
        if (before || self.space) && !suppressed {
            self.blank();
        }
        self.text.push_str(sign);
        self.space = matches!(class, Binary | Relation | Punctuation);
        self.last = Some(class);
    }

    /// Appends what belongs to the sign before it.
    fn attach(&mut self, text: &str) {
        use SignClass::{Binary, Closing, Function, Opening, Ordinary, Punctuation, Relation};
        self.text.push_str(text);
        match self.last {
            Some(Function | Binary | Relation) => {}
            Some(Ordinary | Opening | Closing | Punctuation) | None => {
                (self.last, self.space) = (Some(Ordinary), false);
            }
        }
    }

    /// Words, with the spaces that they have.
    fn text(&mut self, words: &str) {
        if self.space || self.last == Some(SignClass::Function) || words.starts_with(' ') {
            self.blank();
        }
        self.text.push_str(words.trim());
        self.space = words.ends_with(' ');
        self.last = Some(SignClass::Ordinary);
    }

    fn ends_in_digit(&self) -> bool {
        self.text.ends_with(|c: char| c.is_ascii_digit())
    }

    fn blank(&mut self) {
        if !self.is_script && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn wide_space(&mut self) {
        self.blank();
        self.text.push(' ');
        self.space = true;
    }

    /// The next cell of a row. The columns of equations are not aligned.
    fn column(&mut self, rows: RowBreak) {
        self.space |= rows == RowBreak::Semicolon;
    }

    fn row(&mut self, rows: RowBreak) {
        match rows {
            RowBreak::Line => self.text.push('\n'),
            RowBreak::Semicolon => self.text.push_str("; "),
        }
        (self.last, self.space) = (None, false);
    }
}
