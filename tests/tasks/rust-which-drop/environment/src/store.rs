#[derive(Default)]
pub struct Store {
    points: Vec<u32>,
}

impl Store {
    pub fn write(&mut self, points: &mut Vec<u32>) {
        self.points.append(points);
    }

    pub fn points(&self) -> &[u32] {
        &self.points
    }
}
