//! Forward-backward pruning of a search graph (Sixtus & Ortmanns 1999): arcs that are on no good path go.

use crate::search::{Graph, NONE};

/// Scores that differ by less than this, relative to their size, may be the same sum in another order: the search
/// counts in 32 bits.
const SLACK: f64 = 1e-5;

/// Which arcs lead to a complete translation and, if only so many are wanted, are on the best paths. The best path of
/// every arc that stays, stays as a whole; a few more arcs than wanted may stay where paths are equally good.
pub fn kept(graph: &Graph, most: Option<usize>) -> Vec<bool> {
    let mut after = vec![f64::NEG_INFINITY; graph.nodes.len()];
    for &end in &graph.finals {
        after[end as usize] = 0.0;
    }
    let mut through = vec![f64::NEG_INFINITY; graph.arcs.len()];
    for node in (0..graph.nodes.len()).rev().filter(|&n| graph.nodes[n].arcs != NONE) {
        for arc in graph.ways(node as u32) {
            let from = graph.arcs[arc as usize].from as usize;
            after[from] = after[from].max(after[node] + graph.gain(arc));
            through[arc as usize] = f64::from(graph.arcs[arc as usize].score) + after[node];
        }
    }
    let floor = floor(&through, most);
    let mut kept: Vec<bool> = through.iter().map(|score| *score >= floor && score.is_finite()).collect();
    trim(graph, &mut kept);
    kept
}

/// The score that the best `most` arcs have at least.
fn floor(through: &[f64], most: Option<usize>) -> f64 {
    let mut finite: Vec<f64> = through.iter().copied().filter(|score| score.is_finite()).collect();
    match most {
        Some(most) if most < finite.len() => {
            let score = *finite.select_nth_unstable_by(most.max(1) - 1, |a, b| b.total_cmp(a)).1;
            score - SLACK * (1.0 + score.abs())
        }
        _ => f64::NEG_INFINITY,
    }
}

/// Takes away arcs that do not lead from the start to an end.
fn trim(graph: &Graph, kept: &mut [bool]) {
    let mut reached = vec![false; graph.nodes.len()];
    reached[0] = true;
    for node in 1..graph.nodes.len() as u32 {
        for arc in graph.ways(node) {
            kept[arc as usize] &= reached[graph.arcs[arc as usize].from as usize];
            reached[node as usize] |= kept[arc as usize];
        }
    }
    let mut leads = vec![false; graph.nodes.len()];
    graph.finals.iter().for_each(|&end| leads[end as usize] = true);
    for node in (0..graph.nodes.len() as u32).rev() {
        for arc in graph.ways(node) {
            kept[arc as usize] &= leads[node as usize];
            leads[graph.arcs[arc as usize].from as usize] |= kept[arc as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Arc, Node};
    use proptest::prelude::*;

    /// A graph with these arcs (from, to, gain), the last node being final.
    fn graph(nodes: usize, arcs: &[(u32, u32, i8)]) -> Graph {
        let mut made = Graph::new(1, 0);
        made.add_node(Node::start(0.0), &[]);
        for node in 1..nodes as u32 {
            made.add_node(Node { score: f32::NEG_INFINITY, ..Node::start(0.0) }, &[]);
            for &(from, _, gain) in arcs.iter().filter(|arc| arc.1 == node) {
                let score = made.nodes[from as usize].score + f32::from(gain);
                if score.is_finite() {
                    made.add_arc(node, Arc { from, option: 0, score, next: NONE });
                    let best = &mut made.nodes[node as usize].score;
                    *best = best.max(score);
                }
            }
        }
        made.finals = vec![nodes as u32 - 1];
        made
    }

    /// All paths to a node, as arcs with the sum of their gains.
    fn paths(graph: &Graph, node: u32) -> Vec<(f64, Vec<u32>)> {
        if node == 0 {
            return vec![(0.0, Vec::new())];
        }
        let longer = |arc: u32| {
            let from = paths(graph, graph.arcs[arc as usize].from);
            from.into_iter().map(move |(sum, mut arcs)| {
                arcs.push(arc);
                (sum + graph.gain(arc), arcs)
            })
        };
        graph.ways(node).flat_map(longer).collect()
    }

    proptest! {
        #[test]
        fn the_best_paths_stay_and_only_they(
            nodes in 2usize..7,
            arcs in prop::collection::vec((0u32..6, 1u32..7, -9i8..9), 0..14),
            most in 1usize..9,
        ) {
            let inside = |arc: &(u32, u32, i8)| arc.0 < arc.1 && (arc.1 as usize) < nodes;
            let graph = graph(nodes, &arcs.into_iter().filter(inside).collect::<Vec<_>>());
            let all = paths(&graph, nodes as u32 - 1);
            let best = |arc: u32| {
                let with = all.iter().filter(|(_, arcs)| arcs.contains(&arc)).map(|(sum, _)| *sum);
                with.fold(f64::NEG_INFINITY, f64::max)
            };
            let scores: Vec<f64> = (0..graph.arcs.len() as u32).map(best).collect();
            let complete: Vec<bool> = scores.iter().map(|score| score.is_finite()).collect();
            prop_assert_eq!(kept(&graph, None), complete);
            let kept = kept(&graph, Some(most));
            for (arc, stays) in kept.iter().enumerate() {
                // Gains are whole numbers, so that nothing is nearly equal.
                let better = scores.iter().filter(|score| **score > scores[arc]).count();
                prop_assert_eq!(*stays, scores[arc].is_finite() && better < most);
            }
        }
    }
}
