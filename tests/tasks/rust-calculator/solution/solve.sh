#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > src/lib.rs <<'END'
mod eval;
mod lexer;
mod parser;

pub use eval::evaluate;

/// What is wrong with an expression. Columns are characters from 1.
#[derive(Debug, PartialEq)]
pub enum Error {
    Unexpected { column: usize, found: Option<char> },
    UnknownName { column: usize, name: String },
    DivisionByZero { column: usize },
}
END
cat > src/lexer.rs <<'END'
use crate::Error;

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Number(f64),
    Name(String),
    Sign(char),
}

/// A token, the column where it begins, and its first character.
#[derive(Debug, Clone)]
pub struct Placed {
    pub token: Token,
    pub column: usize,
    pub first: char,
}

pub fn tokens(text: &str) -> Result<Vec<Placed>, Error> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&first) = chars.get(at) {
        let start = at;
        let column = start + 1;
        at += 1;
        let mut take = |is_part: fn(char) -> bool| {
            while chars.get(at).is_some_and(|c| is_part(*c)) {
                at += 1;
            }
            chars[start..at].iter().collect::<String>()
        };
        let token = match first {
            ' ' => continue,
            '0'..='9' => {
                let text = take(|c| c.is_ascii_digit() || c == '.');
                let number = text.parse();
                Token::Number(number.map_err(|_| Error::Unexpected { column, found: Some(first) })?)
            }
            c if c.is_ascii_alphabetic() => Token::Name(take(|c| c.is_ascii_alphabetic())),
            c if "+-*/^()".contains(c) => Token::Sign(c),
            c => return Err(Error::Unexpected { column, found: Some(c) }),
        };
        tokens.push(Placed { token, column, first });
    }
    Ok(tokens)
}
END
cat > src/parser.rs <<'END'
use crate::Error;
use crate::lexer::{Placed, Token};

#[derive(Debug)]
pub enum Tree {
    Number(f64),
    Name { column: usize, name: String },
    Negative(Box<Tree>),
    Operation { left: Box<Tree>, sign: char, column: usize, right: Box<Tree> },
}

pub fn parse(tokens: &[Placed], end: usize) -> Result<Tree, Error> {
    let mut parser = Parser { rest: tokens, end };
    let tree = parser.sum()?;
    match parser.rest {
        [] => Ok(tree),
        [next, ..] => Err(unexpected(next)),
    }
}

fn unexpected(next: &Placed) -> Error {
    Error::Unexpected { column: next.column, found: Some(next.first) }
}

struct Parser<'a> {
    rest: &'a [Placed],
    end: usize,
}

impl Parser<'_> {
    fn sign(&mut self, signs: &str) -> Option<(char, usize)> {
        let (first, behind) = self.rest.split_first()?;
        let Token::Sign(sign) = first.token else { return None };
        signs.contains(sign).then(|| {
            self.rest = behind;
            (sign, first.column)
        })
    }

    fn chain(&mut self, signs: &str, part: fn(&mut Self) -> Result<Tree, Error>) -> Result<Tree, Error> {
        let mut left = part(self)?;
        while let Some((sign, column)) = self.sign(signs) {
            let right = Box::new(part(self)?);
            left = Tree::Operation { left: Box::new(left), sign, column, right };
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Tree, Error> {
        self.chain("+-", Self::product)
    }

    fn product(&mut self) -> Result<Tree, Error> {
        self.chain("*/", Self::unary)
    }

    fn unary(&mut self) -> Result<Tree, Error> {
        match self.sign("-") {
            Some(_) => Ok(Tree::Negative(Box::new(self.unary()?))),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Result<Tree, Error> {
        let left = self.atom()?;
        let Some((sign, column)) = self.sign("^") else { return Ok(left) };
        let right = Box::new(self.unary()?);
        Ok(Tree::Operation { left: Box::new(left), sign, column, right })
    }

    fn atom(&mut self) -> Result<Tree, Error> {
        let end = Error::Unexpected { column: self.end, found: None };
        let (first, behind) = self.rest.split_first().ok_or(end)?;
        let tree = match &first.token {
            Token::Number(number) => Tree::Number(*number),
            Token::Name(name) => Tree::Name { column: first.column, name: name.clone() },
            Token::Sign('(') => {
                self.rest = behind;
                let inner = self.sum()?;
                if self.sign(")").is_none() {
                    let end = Error::Unexpected { column: self.end, found: None };
                    return Err(self.rest.first().map_or(end, unexpected));
                }
                return Ok(inner);
            }
            Token::Sign(_) => return Err(unexpected(first)),
        };
        self.rest = behind;
        Ok(tree)
    }
}
END
cat > src/eval.rs <<'END'
use std::collections::HashMap;

use crate::Error;
use crate::lexer::tokens;
use crate::parser::{Tree, parse};

pub fn evaluate(text: &str, names: &HashMap<String, f64>) -> Result<f64, Error> {
    value(&parse(&tokens(text)?, text.chars().count() + 1)?, names)
}

fn value(tree: &Tree, names: &HashMap<String, f64>) -> Result<f64, Error> {
    Ok(match tree {
        Tree::Number(number) => *number,
        Tree::Negative(inner) => -value(inner, names)?,
        Tree::Name { column, name } => *names
            .get(name)
            .ok_or_else(|| Error::UnknownName { column: *column, name: name.clone() })?,
        Tree::Operation { left, sign, column, right } => {
            let (left, right) = (value(left, names)?, value(right, names)?);
            match sign {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                '^' => left.powf(right),
                _ if right == 0.0 => return Err(Error::DivisionByZero { column: *column }),
                _ => left / right,
            }
        }
    })
}
END
cat > tests/basic.rs <<'END'
use std::collections::HashMap;

use task::{Error, evaluate};

#[test]
fn operations() {
    let names = HashMap::from([("x".to_owned(), 3.0)]);
    let value = |text: &str| evaluate(text, &names);
    assert_eq!(value("1 + 2*3"), Ok(7.0));
    assert_eq!(value("8/4 - 1.5"), Ok(0.5));
    assert_eq!(value("-(x + 1)^2"), Ok(-16.0));
    assert_eq!(value("1/0"), Err(Error::DivisionByZero { column: 2 }));
    assert_eq!(value("1+"), Err(Error::Unexpected { column: 3, found: None }));
}
END
