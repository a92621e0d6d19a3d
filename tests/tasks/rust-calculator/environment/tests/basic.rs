use task::{Error, evaluate};

#[test]
fn four_operations() {
    assert_eq!(evaluate("1 + 2*3"), Ok(7.0));
    assert_eq!(evaluate("8/4 - 1.5"), Ok(0.5));
    assert_eq!(evaluate("1/0"), Err(Error::DivisionByZero));
    assert_eq!(evaluate("1+"), Err(Error::Unexpected));
}
