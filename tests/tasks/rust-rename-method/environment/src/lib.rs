pub mod circle;
pub mod drawing;
pub mod file;
pub mod rectangle;
pub mod shape;
pub mod text;
