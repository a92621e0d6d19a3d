//! Sizes of files, which have nothing to do with shapes.

pub struct File {
    pub bytes: Vec<u8>,
}

impl File {
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}
