//! Forests in tuning: kept by sentence and round, and hope and fear in them by dynamic programming with linearised BLEU
//! (Chiang et al. 2008; Cherry & Foster 2012; Cherry 2013).

mod beam;
mod file;
mod kept;
mod pool;
mod product;
mod run;
mod seek;
#[cfg(test)]
pub(crate) mod tests;
mod walker;

pub use file::{read, write};
pub use kept::{Features, Kept};
pub use pool::{Firsts, Path, Pool};
pub use product::Product;
pub use run::Run;
pub use seek::Found;
