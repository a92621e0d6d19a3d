use crate::store::Store;

#[derive(Default)]
pub struct Game {
    unsaved: Vec<u32>,
    paused: Option<Vec<u32>>,
}

impl Game {
    pub fn score(&mut self, points: u32) {
        self.unsaved.push(points);
    }

    pub fn pause(&mut self) {
        let points = std::mem::take(&mut self.unsaved);
        self.paused.get_or_insert_default().extend(points);
    }

    pub fn resume(&mut self) {
        if let Some(paused) = self.paused.take() {
            self.unsaved = paused;
        }
    }

    pub fn save(&mut self, store: &mut Store) {
        if let Some(mut paused) = self.paused.take() {
            store.write(&mut paused);
        }
        store.write(&mut self.unsaved);
    }
}
