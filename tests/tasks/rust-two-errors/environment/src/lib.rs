pub mod report;
pub mod table;
