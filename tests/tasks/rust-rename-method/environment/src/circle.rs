use crate::shape::Shape;

pub struct Circle {
    pub radius: f64,
}

impl Shape for Circle {
    fn size(&self) -> f64 {
        std::f64::consts::PI * self.radius.powi(2)
    }
}
