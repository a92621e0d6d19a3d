use crate::shape::Shape;

pub struct Rectangle {
    /// Width and height.
    pub size: (f64, f64),
}

impl Shape for Rectangle {
    fn size(&self) -> f64 {
        self.size.0 * self.size.1
    }
}

impl Rectangle {
    pub fn square(size: f64) -> Self {
        Self { size: (size, size) }
    }
}
