use std::path::Path;

use task::error::RecipeError;
use task::load::load;
use task::parse::parse;
use task::scale::scale;

fn error(text: &str) -> String {
    let error: Box<dyn std::error::Error> = parse(text).unwrap_err().into();
    error.to_string()
}

#[test]
fn hidden() {
    assert_eq!(error("2\ng sugar"), "line 2: a quantity is missing");
    assert_eq!(error("2\nx g sugar"), "line 2: \"x\" is not a number");
    assert_eq!(error("2\n\n1 stone potatoes"), "line 3: unknown unit \"stone\"");
    assert_eq!(error("two\n"), "line 1: \"two\" is not a number");
    assert_eq!(error(""), "the file is empty");
    let nobody = parse("0\n1 pc egg").unwrap();
    assert_eq!(scale(&nobody, 3).unwrap_err().to_string(), "the recipe is for 0 people");
    let missing = load(Path::new("/nonexistent/x")).unwrap_err();
    assert!(missing.to_string().starts_with("cannot read /nonexistent/x: "));
    let _: RecipeError = missing;
    let recipe = parse("2\n100 g brown sugar\n").unwrap();
    assert_eq!(scale(&recipe, 3).unwrap().ingredients[0].quantity, 150.0);
    assert_eq!(recipe.ingredients[0].name, "brown sugar");
}
