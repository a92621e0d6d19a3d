use crate::shape::Shape;

#[derive(Default)]
pub struct Drawing {
    shapes: Vec<Box<dyn Shape>>,
}

impl Drawing {
    pub fn add(&mut self, shape: impl Shape + 'static) {
        self.shapes.push(Box::new(shape));
    }

    /// How many shapes there are.
    pub fn size(&self) -> usize {
        self.shapes.len()
    }

    pub fn largest(&self) -> Option<f64> {
        self.shapes.iter().map(|shape| shape.size()).max_by(f64::total_cmp)
    }
}

impl Shape for Drawing {
    fn size(&self) -> f64 {
        self.shapes.iter().map(|it| it.size()).sum()
    }
}
