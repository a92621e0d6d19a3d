use crate::Error;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token {
    Number(f64),
    Operator(char),
}

pub fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == ' ' {
            rest = &rest[1..];
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            tokens.push(Token::Number(rest[..end].parse().map_err(|_| Error::Unexpected)?));
            rest = &rest[end..];
        } else if "+-*/".contains(first) {
            tokens.push(Token::Operator(first));
            rest = &rest[1..];
        } else {
            return Err(Error::Unexpected);
        }
    }
    Ok(tokens)
}
