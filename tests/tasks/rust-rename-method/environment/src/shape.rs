/// Something that covers a part of the plane.
pub trait Shape {
    /// The area in square units.
    fn size(&self) -> f64;

    fn is_larger_than(&self, other: &dyn Shape) -> bool {
        self.size() > other.size()
    }
}
