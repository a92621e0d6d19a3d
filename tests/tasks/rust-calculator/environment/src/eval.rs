use crate::Error;
use crate::lexer::tokens;
use crate::parser::{Tree, parse};

pub fn evaluate(text: &str) -> Result<f64, Error> {
    value(&parse(&tokens(text)?)?)
}

fn value(tree: &Tree) -> Result<f64, Error> {
    Ok(match tree {
        Tree::Number(number) => *number,
        Tree::Operation(left, operator, right) => {
            let (left, right) = (value(left)?, value(right)?);
            match operator {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                _ if right == 0.0 => return Err(Error::DivisionByZero),
                _ => left / right,
            }
        }
    })
}
