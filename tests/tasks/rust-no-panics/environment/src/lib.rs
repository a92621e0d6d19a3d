pub mod load;
pub mod parse;
pub mod scale;
pub mod unit;
