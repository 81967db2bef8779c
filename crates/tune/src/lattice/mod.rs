//! MIRA over lattices: hope and fear by dynamic programming with linearised BLEU (Chiang et al. 2008; Cherry &
//! Foster 2012; Cherry 2013).

mod beam;
mod file;
mod plain;
mod pool;
mod product;
mod run;
mod seek;

pub use file::{read, write};
pub use plain::{Builder, Plain};
pub use pool::{Firsts, Path, Pool};
pub use product::Lattice;
pub use run::Run;
pub use seek::Found;
