//! Two directed alignments into one: Och & Ney's (2003) and Koehn et al.'s (2003) heuristics.

use crate::links::Links;
use dragoman_base::{Error, Result};
use rayon::prelude::*;

/// How links of both directions are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Links that both directions have.
    Intersection,
    /// Links that either direction has.
    Union,
    /// The intersection, grown by links of the union next to a link (also diagonally) of a word that has none.
    GrowDiag,
    /// And then by any link of the union, forward ones first, of a word that has none.
    GrowDiagFinal,
    /// And then by any link of the union, forward ones first, between two words that have none.
    GrowDiagFinalAnd,
}

impl Method {
    /// All methods and their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("intersection", Self::Intersection),
        ("union", Self::Union),
        ("grow-diag", Self::GrowDiag),
        ("grow-diag-final", Self::GrowDiagFinal),
        ("grow-diag-final-and", Self::GrowDiagFinalAnd),
    ];

    /// The method of that name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, method)| *method).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            Error::Invalid(format!("expected a method ({}), found `{name}`", names.join(", ")))
        })
    }
}

/// Neighbours in the order in which they are tried: source and target offsets.
const NEIGHBOURS: [(i32, i32); 8] = [(0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1)];

const FORWARD: u8 = 1;
const REVERSE: u8 = 2;
const BOTH: u8 = FORWARD | REVERSE;
const CHOSEN: u8 = 4;

/// One sentence pair as a small matrix of marks, reused.
#[derive(Default)]
struct Grid {
    height: usize,
    width: usize,
    marks: Vec<u8>,
    source: Vec<bool>,
    target: Vec<bool>,
    found: Vec<(u32, u32)>,
}

impl Grid {
    fn load(&mut self, forward: (&[u32], &[u32]), reverse: (&[u32], &[u32])) {
        let size = |a: &[u32], b: &[u32]| a.iter().chain(b).max().map_or(0, |&m| m as usize + 1);
        (self.height, self.width) = (size(forward.0, reverse.0), size(forward.1, reverse.1));
        self.marks.clear();
        self.marks.resize(self.height * self.width, 0);
        for (mark, (source, target)) in [(FORWARD, forward), (REVERSE, reverse)] {
            for (&i, &j) in source.iter().zip(target) {
                self.marks[i as usize * self.width + j as usize] |= mark;
            }
        }
        self.source.clear();
        self.source.resize(self.height, false);
        self.target.clear();
        self.target.resize(self.width, false);
        self.found.clear();
    }

    fn choose(&mut self, i: usize, j: usize) {
        self.marks[i * self.width + j] |= CHOSEN;
        (self.source[i], self.target[j]) = (true, true);
        self.found.push((i as u32, j as u32));
    }

    /// Chooses all links with all of the given marks.
    fn choose_all(&mut self, marks: u8, any: bool) {
        for i in 0..self.height {
            for j in 0..self.width {
                let mark = self.marks[i * self.width + j];
                if if any { mark != 0 } else { mark & marks == marks } {
                    self.choose(i, j);
                }
            }
        }
    }

    /// A union link that is not chosen and has a word without link.
    fn may_grow(&self, i: i32, j: i32) -> Option<(usize, usize)> {
        let (i, j) = (usize::try_from(i).ok()?, usize::try_from(j).ok()?);
        if i >= self.height || j >= self.width {
            return None;
        }
        let mark = self.marks[i * self.width + j];
        (mark != 0 && mark & CHOSEN == 0 && !(self.source[i] && self.target[j])).then_some((i, j))
    }

    /// Passes over all chosen links (in order of target, then source) until a pass adds nothing.
    fn grow(&mut self) {
        loop {
            let before = self.found.len();
            for j in 0..self.width {
                for i in 0..self.height {
                    if self.marks[i * self.width + j] & CHOSEN != 0 {
                        for (di, dj) in NEIGHBOURS {
                            if let Some((i, j)) = self.may_grow(i as i32 + di, j as i32 + dj) {
                                self.choose(i, j);
                            }
                        }
                    }
                }
            }
            if self.found.len() == before {
                return;
            }
        }
    }

    /// Adds links of one direction whose words (one of them, or both) have none yet.
    fn finish(&mut self, direction: u8, both: bool) {
        for j in 0..self.width {
            for i in 0..self.height {
                let mark = self.marks[i * self.width + j];
                let taken =
                    if both { self.source[i] || self.target[j] } else { self.source[i] && self.target[j] };
                if mark & direction != 0 && mark & CHOSEN == 0 && !taken {
                    self.choose(i, j);
                }
            }
        }
    }

    fn run(&mut self, method: Method) {
        match method {
            Method::Union => self.choose_all(0, true),
            _ => self.choose_all(BOTH, false),
        }
        if matches!(method, Method::GrowDiag | Method::GrowDiagFinal | Method::GrowDiagFinalAnd) {
            self.grow();
        }
        if matches!(method, Method::GrowDiagFinal | Method::GrowDiagFinalAnd) {
            self.finish(FORWARD, method == Method::GrowDiagFinalAnd);
            self.finish(REVERSE, method == Method::GrowDiagFinalAnd);
        }
    }
}

/// Joins the links of both directions, pair by pair, on all cores. Both name source positions first.
pub fn symmetrise(forward: &Links, reverse: &Links, method: Method) -> Result<Links> {
    if forward.len() != reverse.len() {
        return Err(Error::Invalid(format!(
            "expected as many pairs in both directions, found {} and {}",
            forward.len(),
            reverse.len()
        )));
    }
    let block = |first: usize| {
        let (mut grid, mut links) = (Grid::default(), Links::new());
        for s in first..forward.len().min(first + 1024) {
            grid.load(forward.pair(s), reverse.pair(s));
            grid.run(method);
            links.push(&mut grid.found);
        }
        links
    };
    let blocks: Vec<Links> = (0..forward.len()).into_par_iter().step_by(1024).map(block).collect();
    let mut links = Links::new();
    for block in &blocks {
        links.append(block);
    }
    Ok(links)
}
