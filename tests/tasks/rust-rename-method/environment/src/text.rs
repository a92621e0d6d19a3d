use crate::shape::Shape;

pub struct Label {
    pub text: String,
    /// The size of the letters.
    pub size: f64,
}

impl Shape for Label {
    fn size(&self) -> f64 {
        self.text.chars().count() as f64 * self.size * self.size / 2.0
    }
}

pub fn describe(shape: &impl Shape) -> String {
    format!("size {:.2}", shape.size())
}
