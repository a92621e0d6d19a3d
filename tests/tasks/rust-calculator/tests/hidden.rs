use std::collections::HashMap;

use task::{Error, evaluate};

#[test]
fn hidden() {
    let names = HashMap::from([("x".to_owned(), 3.0), ("rate".to_owned(), 0.5)]);
    let value = |text: &str| evaluate(text, &names);
    for (text, expected) in [
        ("1 + 2*3", 7.0),
        ("(1 + 2)*3", 9.0),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2^-1", 0.5),
        ("2*-3", -6.0),
        ("--4", 4.0),
        ("x*rate + 1", 2.5),
        ("((x))", 3.0),
        ("10 - 2 - 3", 5.0),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
    assert_eq!(value("4 / (x - 3)"), Err(Error::DivisionByZero { column: 3 }));
    assert_eq!(value("1 + y2"), Err(Error::Unexpected { column: 6, found: Some('2') }));
    assert_eq!(value("1 + zz"), Err(Error::UnknownName { column: 5, name: "zz".to_owned() }));
    assert_eq!(value("(1"), Err(Error::Unexpected { column: 3, found: None }));
    assert_eq!(value("1 $ 2"), Err(Error::Unexpected { column: 3, found: Some('$') }));
    assert_eq!(value(""), Err(Error::Unexpected { column: 1, found: None }));
    assert_eq!(value("1 )"), Err(Error::Unexpected { column: 3, found: Some(')') }));
}
