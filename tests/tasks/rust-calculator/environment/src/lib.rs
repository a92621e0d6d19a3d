mod eval;
mod lexer;
mod parser;

pub use eval::evaluate;

#[derive(Debug, PartialEq)]
pub enum Error {
    Unexpected,
    DivisionByZero,
}
