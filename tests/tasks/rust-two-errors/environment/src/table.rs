use std::collections::HashMap;

/// Points by name.
#[derive(Default)]
pub struct Table {
    points: HashMap<String, u32>,
}

impl Table {
    pub fn add(&mut self, name: &str, points: u32) {
        let before = self.points.get(name).unwrap_or(&0);
        self.points.insert(name.to_owned(), before + points);
        self.log(before);
    }

    fn log(&mut self, before: &u32) {
        if *before == 0 {
            self.points.entry("new names".to_owned()).and_modify(|it| *it += 1).or_insert(1);
        }
    }

    /// The names with the most points first; equal ones by name. The count of new names is left out.
    pub fn ranking(&self) -> Vec<(&str, u32)> {
        let mut rows: Vec<(&str, u32)> =
            self.points.iter().map(|(name, points)| (name, points)).collect();
        rows.retain(|(name, _)| *name != "new names");
        rows.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        rows
    }

    pub fn new_names(&self) -> u32 {
        self.points.get("new names").copied().unwrap_or_default()
    }
}
