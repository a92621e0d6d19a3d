use crate::Error;
use crate::lexer::Token;

#[derive(Debug)]
pub enum Tree {
    Number(f64),
    Operation(Box<Tree>, char, Box<Tree>),
}

pub fn parse(tokens: &[Token]) -> Result<Tree, Error> {
    let mut rest = tokens;
    let tree = sum(&mut rest)?;
    if rest.is_empty() { Ok(tree) } else { Err(Error::Unexpected) }
}

fn sum(rest: &mut &[Token]) -> Result<Tree, Error> {
    let mut left = product(rest)?;
    while let [Token::Operator(operator @ ('+' | '-')), behind @ ..] = *rest {
        *rest = behind;
        left = Tree::Operation(Box::new(left), *operator, Box::new(product(rest)?));
    }
    Ok(left)
}

fn product(rest: &mut &[Token]) -> Result<Tree, Error> {
    let mut left = number(rest)?;
    while let [Token::Operator(operator @ ('*' | '/')), behind @ ..] = *rest {
        *rest = behind;
        left = Tree::Operation(Box::new(left), *operator, Box::new(number(rest)?));
    }
    Ok(left)
}

fn number(rest: &mut &[Token]) -> Result<Tree, Error> {
    let [Token::Number(number), behind @ ..] = *rest else { return Err(Error::Unexpected) };
    *rest = behind;
    Ok(Tree::Number(*number))
}
