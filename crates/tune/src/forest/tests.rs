//! Small random forests for tests, and all that they derive.

use dragoman_base::random::{Generator, below};
use dragoman_forest::{Edge, Forest, TAIL, span};

fn empty(nodes: u32) -> Forest {
    Forest { nodes, words: ["a", "b", "c", "d"].into_iter().collect(), ..Forest::default() }
}

/// A lattice with up to 3,000 paths or so, over few words, so that n-grams come more often than they count.
pub(crate) fn lattice(rng: &mut Generator) -> Forest {
    let nodes = 4 + below(rng, 4) as u32;
    let mut made = empty(nodes - 1);
    for head in 1..nodes {
        for tail in head.saturating_sub(2)..head {
            for _ in 0..=below(rng, 3) {
                let mut symbols: Vec<u32> = (0..=below(rng, 2)).map(|_| below(rng, 4) as u32).collect();
                let score = below(rng, 17) as f64 / 8.0 - 1.0;
                let tails = if tail == 0 { vec![] } else { vec![tail - 1] };
                if tail > 0 {
                    symbols.insert(0, TAIL);
                }
                made.add(
                    Edge { head: head - 1, tails: &tails, symbols: &symbols, ..Edge::default() },
                    [(0, score)],
                );
            }
        }
    }
    made
}

/// A forest with edges of up to two tails, some of them in the other order; it may have no derivation.
pub(crate) fn forest(rng: &mut Generator) -> Forest {
    let nodes = 2 + below(rng, 4) as u32;
    let mut made = empty(nodes);
    for head in 0..nodes {
        for _ in 0..below(rng, 4) {
            let arity = if head == 0 { 0 } else { below(rng, 3) };
            let tails: Vec<u32> = (0..arity).map(|_| below(rng, head as usize) as u32).collect();
            let mut symbols: Vec<u32> = (0..arity as u32).map(|tail| TAIL + tail).collect();
            if below(rng, 2) == 0 {
                symbols.reverse();
            }
            for _ in 0..below(rng, 3) {
                symbols.insert(below(rng, symbols.len() + 1), below(rng, 4) as u32);
            }
            let score = below(rng, 17) as f64 / 8.0 - 1.0;
            made.add(Edge { head, tails: &tails, symbols: &symbols, ..Edge::default() }, [(0, score)]);
        }
    }
    made
}

/// A reference for it.
pub(crate) fn line(rng: &mut Generator) -> String {
    let words: Vec<&str> = (0..3 + below(rng, 6)).map(|_| ["a", "b", "c", "e"][below(rng, 4)]).collect();
    words.join(" ")
}

/// All derivations of a node.
pub(crate) fn all(forest: &Forest, node: u32) -> Vec<Vec<u32>> {
    let mut made = Vec::new();
    for edge in span(&forest.starts(), node) {
        let mut open: Vec<Vec<u32>> = vec![Vec::new()];
        for &tail in forest.tails(edge) {
            let below = all(forest, tail);
            open = open.iter().flat_map(|a| below.iter().map(move |b| [&a[..], b].concat())).collect();
        }
        made.extend(open.into_iter().map(|below| [&below[..], &[edge as u32]].concat()));
    }
    made
}
