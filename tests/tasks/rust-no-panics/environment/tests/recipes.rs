use task::parse::parse;
use task::scale::scale;

#[test]
fn scales() {
    let recipe = parse("2\n100 g sugar\n\n1 pc large egg\n");
    let four = scale(&recipe, 4);
    assert_eq!(four.ingredients[0].quantity, 200.0);
    assert_eq!(four.ingredients[1].name, "large egg");
}
