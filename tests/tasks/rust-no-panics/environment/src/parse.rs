use crate::unit::Unit;

#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    pub people: u32,
    pub ingredients: Vec<Ingredient>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ingredient {
    pub quantity: f64,
    pub unit: Unit,
    pub name: String,
}

/// The first line holds the number of people, each further line a quantity, a unit and a name.
/// Empty lines are passed over.
pub fn parse(text: &str) -> Recipe {
    let mut lines = text.lines();
    let people = lines.next().unwrap().trim().parse().expect("people");
    let ingredients = lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Ingredient {
                quantity: words[0].parse().unwrap(),
                unit: Unit::named(words[1]),
                name: words[2..].join(" "),
            }
        })
        .collect();
    Recipe { people, ingredients }
}
