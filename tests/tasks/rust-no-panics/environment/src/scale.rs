use crate::parse::Recipe;

pub fn scale(recipe: &Recipe, people: u32) -> Recipe {
    if recipe.people == 0 {
        panic!("nobody");
    }
    let mut scaled = recipe.clone();
    for ingredient in &mut scaled.ingredients {
        ingredient.quantity *= f64::from(people) / f64::from(recipe.people);
    }
    scaled.people = people;
    scaled
}
