//! Minimum error rate training: what happens per candidate.
//!
//! Along a line `w + γ·d` every candidate's model score is a straight line `w·h + γ·(d·h)`, so the winner of a
//! sentence changes only at the corners of the upper envelope of its lines ([`envelope`]), and the corpus
//! statistics only at the corners of all sentences together ([`line`]). [`columns`] lays features out so that a
//! coordinate's lines are ready to read; [`quick`] searches many coordinates from one point and [`best`] takes the
//! best point of each; [`expected`] smooths the steps for a gradient, [`noise`] smooths them for the search itself.
//!
//! In a forest the lines of all derivations are found bottom up ([`hull`]), and [`forests`] searches those of a corpus.

pub mod best;
pub mod columns;
pub mod envelope;
pub mod expected;
pub mod forests;
pub mod hull;
pub mod line;
pub mod noise;
pub mod quick;
pub mod share;
