//! All of it against all derivations of small random forests, one by one.

use crate::{Columns, Derivation, Edge, Forest, Sum, TAIL, cdec, jsonl, span};
use dragoman_base::Names;
use dragoman_base::random::{Generator, below, stream};
use std::collections::BTreeMap;

/// A random forest of a few hundred derivations at most, with scores that are eighths, so that all sums are exact.
pub(crate) fn random(rng: &mut Generator) -> Forest {
    let nodes = 1 + below(rng, 5) as u32;
    let mut forest = Forest { nodes, ..Forest::default() };
    forest.words = ["a", "b", "c", "d"].into_iter().collect();
    for head in 0..nodes {
        for _ in 0..=below(rng, 3) {
            let arity = if head == 0 { 0 } else { below(rng, 3) };
            let tails: Vec<u32> = (0..arity).map(|_| below(rng, head as usize) as u32).collect();
            let mut symbols: Vec<u32> = (0..arity as u32).map(|tail| TAIL + tail).collect();
            if arity == 2 && below(rng, 2) == 0 {
                symbols.reverse();
            }
            for _ in 0..below(rng, 3) {
                symbols.insert(below(rng, symbols.len() + 1), below(rng, 3) as u32);
            }
            let links: Vec<(u32, u32)> = (0..symbols.len() as u32)
                .filter(|&place| symbols[place as usize] < TAIL)
                .map(|place| (below(rng, 6) as u32, place))
                .collect();
            let score = below(rng, 33) as f64 / 8.0 - 2.0;
            let edge =
                Edge { head, tails: &tails, symbols: &symbols, score, span: (0, 2), links: &links, tag: 7 };
            forest.add(edge, [(3, score), (below(rng, 3) as u32, 1.0)]);
        }
    }
    forest.check().unwrap();
    forest
}

/// All derivations of a node.
pub(crate) fn all(forest: &Forest, node: u32) -> Vec<Derivation> {
    let starts = forest.starts();
    let mut made = Vec::new();
    for edge in span(&starts, node) {
        let mut open = vec![Derivation { score: 0.0, edges: Vec::new() }];
        for &tail in forest.tails(edge) {
            let below = all(forest, tail);
            let join = |before: &Derivation, below: &Derivation| Derivation {
                score: before.score + below.score,
                edges: [&before.edges[..], &below.edges].concat(),
            };
            open = open.iter().flat_map(|above| below.iter().map(move |below| join(above, below))).collect();
        }
        for derivation in &mut open {
            derivation.score += forest.scores[edge];
            derivation.edges.push(edge as u32);
        }
        made.extend(open);
    }
    made
}

fn every(forest: &Forest) -> Vec<Derivation> {
    forest.root().map_or_else(Vec::new, |root| all(forest, root))
}

/// The words of a derivation by its definition.
fn slow_text(forest: &Forest, edges: &[u32]) -> String {
    let mut open: Vec<Vec<String>> = Vec::new();
    for &edge in edges {
        let tails = open.split_off(open.len() - forest.tails(edge as usize).len());
        let word = |&symbol: &u32| match symbol.checked_sub(TAIL) {
            Some(tail) => tails[tail as usize].clone(),
            None => vec![forest.words.get(symbol as usize).to_owned()],
        };
        open.push(forest.target(edge as usize).iter().flat_map(word).collect());
    }
    assert_eq!(open.len(), 1);
    open[0].join(" ")
}

fn forests() -> impl Iterator<Item = Forest> {
    (0..400).map(|number| random(&mut stream(11, number))).filter(|forest| every(forest).len() < 4000)
}

#[test]
fn texts_features_links_and_trees_are_those_of_the_derivation() {
    for forest in forests() {
        for Derivation { score, edges } in every(&forest).into_iter().take(40) {
            let text = slow_text(&forest, &edges);
            assert_eq!(forest.text_of(&edges), text);
            let features: BTreeMap<u32, f64> = forest.features_of(&edges).into_iter().collect();
            assert_eq!(features.get(&3).copied().unwrap_or(0.0), score);
            let links = forest.links_of(&edges);
            let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
            // Every word has a link in these forests.
            let aligned: Vec<usize> =
                (0..words.len()).filter(|&t| links.iter().any(|l| l.1 as usize == t)).collect();
            assert_eq!(aligned.len(), words.len());
            let tree = forest.tree(&edges).unwrap();
            assert_eq!(Some(&tree.edge), edges.last());
            assert_eq!(forest.outline(&edges).lines().count(), edges.len());
            assert!(edges.len() == 1 || forest.tree(&edges[1..]).is_none());
        }
    }
}

#[test]
fn kbest_is_all_derivations_in_order() {
    let mut most = 0;
    for forest in forests() {
        let mut want = every(&forest);
        most = most.max(want.len());
        let mut scores: Vec<f64> = want.iter().map(|d| d.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        let found = forest.kbest(usize::MAX, false);
        assert_eq!(found.iter().map(|d| d.score).collect::<Vec<_>>(), scores);
        let by_edges = |a: &Derivation, b: &Derivation| a.edges.cmp(&b.edges);
        let mut sorted = found.clone();
        sorted.sort_by(by_edges);
        want.sort_by(by_edges);
        assert_eq!(sorted, want);
        let few = forest.kbest(5, false);
        assert_eq!(few[..], found[..few.len()]);
        assert_eq!(forest.best(&forest.scores).map(|d| d.score), scores.first().copied());
    }
    assert!(most > 1000);
}

#[test]
fn distinct_strings_come_once_by_their_best_derivation() {
    for forest in forests() {
        let mut want: BTreeMap<String, f64> = BTreeMap::new();
        for derivation in every(&forest) {
            let best = want.entry(slow_text(&forest, &derivation.edges)).or_insert(f64::NEG_INFINITY);
            *best = best.max(derivation.score);
        }
        let found = forest.kbest(usize::MAX, true);
        assert!(found.is_sorted_by(|a, b| a.score >= b.score));
        let texts: BTreeMap<String, f64> =
            found.iter().map(|d| (forest.text_of(&d.edges), d.score)).collect();
        assert_eq!((texts.len(), &texts), (found.len(), &want));
    }
}

#[test]
fn inside_and_outside_are_sums_and_maxima_over_derivations() {
    for forest in forests() {
        let derivations = every(&forest);
        let through = forest.through(&forest.scores, Sum::Max);
        let sums = forest.through(&forest.scores, Sum::Log);
        for edge in 0..forest.edges() {
            let with = derivations.iter().flat_map(|d| {
                let count = d.edges.iter().filter(|&&e| e as usize == edge).count();
                std::iter::repeat_n(d.score, count)
            });
            let best = with.clone().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(through[edge], best);
            // An edge that a derivation has twice counts twice: these are expected counts.
            let sum = with.map(f64::exp).sum::<f64>().ln();
            assert!(sums[edge] == sum || (sums[edge] - sum).abs() < 1e-9, "{} {sum}", sums[edge]);
        }
    }
}

#[test]
fn pruning_keeps_the_best_derivations_and_only_them() {
    for (number, forest) in forests().enumerate() {
        let derivations = every(&forest);
        let best = derivations.iter().map(|d| d.score).fold(f64::NEG_INFINITY, f64::max);
        let through = forest.through(&forest.scores, Sum::Max);
        let beam = (number % 5) as f64 / 2.0;
        let kept = forest.within(beam);
        kept.check().unwrap();
        let want = through.iter().filter(|&&value| value >= best - beam && value.is_finite()).count();
        assert_eq!(kept.edges(), want);
        assert!(kept.through(&kept.scores, Sum::Max).iter().all(|&value| value >= best - beam));
        let most = 1 + number % 7;
        let few = forest.densest(most);
        let better = |value: f64| through.iter().filter(|other| **other > value).count();
        let want = through.iter().filter(|value| value.is_finite() && better(**value) < most).count();
        assert_eq!(few.edges(), want);
        assert_eq!(few.best(&few.scores).map(|d| d.score), forest.best(&forest.scores).map(|d| d.score));
        let complete = through.iter().filter(|value| value.is_finite()).count();
        assert_eq!(forest.pruned(0.0, 3).edges(), complete);
    }
}

#[test]
fn a_target_is_reached_if_a_derivation_has_it() {
    let (mut reached, mut missed) = (0, 0);
    for (number, forest) in forests().enumerate() {
        let derivations = every(&forest);
        let rng = &mut stream(12, number as u64);
        let mut targets: Vec<String> =
            derivations.iter().take(200).step_by(17).map(|d| slow_text(&forest, &d.edges)).collect();
        targets.push(
            (0..below(rng, 5))
                .map(|_| ["a", "b", "c", "d", "e"][below(rng, 5)])
                .collect::<Vec<_>>()
                .join(" "),
        );
        for target in targets {
            let words: Vec<&str> = target.split(' ').filter(|word| !word.is_empty()).collect();
            let with = derivations.iter().filter(|d| slow_text(&forest, &d.edges) == target);
            let want = with.map(|d| d.score).reduce(f64::max);
            let found = forest.reach(&words, &forest.scores);
            assert_eq!(found.as_ref().map(|d| d.score), want, "{target}");
            if let Some(found) = &found {
                assert_eq!(slow_text(&forest, &found.edges), target);
                assert!(derivations.contains(found));
            }
            (reached, missed) =
                (reached + usize::from(found.is_some()), missed + usize::from(found.is_none()));
        }
    }
    assert!(reached > 500 && missed > 100, "{reached} {missed}");
}

/// Nodes and edges in any order, with some that no derivation has, come out right; a cycle does not.
#[test]
fn any_order_is_made_right() {
    for (number, forest) in forests().enumerate() {
        let rng = &mut stream(13, number as u64);
        let mut order: Vec<u32> = (0..forest.nodes).collect();
        let mut edges: Vec<usize> = (0..forest.edges()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, below(rng, at + 1));
        }
        for at in (1..edges.len()).rev() {
            edges.swap(at, below(rng, at + 1));
        }
        let mut mixed = Forest { nodes: forest.nodes + 1, words: forest.words.clone(), ..Forest::default() };
        for &edge in &edges {
            let old = forest.edge(edge);
            let tails: Vec<u32> = old.tails.iter().map(|&tail| order[tail as usize]).collect();
            let (columns, values) = forest.rows.row(edge);
            let features = columns.iter().copied().zip(values.iter().copied());
            mixed.add(Edge { head: order[old.head as usize], tails: &tails, ..old }, features);
        }
        let top = order[forest.nodes as usize - 1];
        let made = mixed.arranged(top).unwrap();
        made.check().unwrap();
        let texts = |forest: &Forest| {
            let mut all: Vec<_> = every(forest)
                .iter()
                .map(|d| (slow_text(forest, &d.edges), (d.score * 8.0) as i64, forest.links_of(&d.edges)))
                .collect();
            all.sort();
            all
        };
        assert_eq!(texts(&made), texts(&forest));
        assert_eq!(made.arranged(made.nodes.wrapping_sub(1)).unwrap(), made);
        let tails: Vec<u32> = vec![top];
        mixed.add(Edge { head: top, tails: &tails, symbols: &[TAIL], ..Edge::default() }, []);
        assert!(mixed.arranged(top).unwrap_err().to_string().contains("cycle"));
    }
}

/// What a sentence says, and what breaks the rule.
type Break = (&'static str, fn(&mut Forest));

#[test]
fn broken_forests_are_refused() {
    let good = random(&mut stream(1, 3));
    let mut edge = Forest { nodes: 2, words: ["a"].into_iter().collect(), ..Forest::default() };
    edge.add(Edge { head: 0, symbols: &[0], ..Edge::default() }, []);
    edge.add(
        Edge { head: 1, tails: &[0], symbols: &[TAIL, 0], links: &[(0, 1)], ..Edge::default() },
        [(0, 1.0)],
    );
    edge.check().unwrap();
    let breaks: [Break; 12] = [
        ("not below", |f| f.tails[0] = 1),
        ("to node", |f| f.heads[1] = 5),
        ("order of their heads", |f| f.heads.swap(0, 1)),
        ("no such tail", |f| f.symbols[1] = TAIL + 1),
        ("word 9 of 1", |f| f.symbols[0] = 9),
        ("does not use", |f| f.symbols[1] = 0),
        ("twice", |f| f.symbols[2] = TAIL),
        ("link", |f| f.links[0] = (0, 0)),
        ("finite", |f| f.scores[0] = f64::NAN),
        ("finite", |f| f.rows.values[0] = f64::INFINITY),
        ("ends before", |f| f.spans[0] = (3, 1)),
        ("for each edge", |f| {
            f.tags.pop();
        }),
    ];
    for (what, breaking) in breaks {
        let mut bad = edge.clone();
        breaking(&mut bad);
        let told = bad.check().unwrap_err().to_string();
        assert!(told.contains(what), "{what}: {told}");
    }
    good.check().unwrap();
    Forest::default().check().unwrap();
    assert_eq!(Forest::default().kbest(3, true), []);
}

/// Texts, scores and features by name of all derivations.
fn listed(forest: &Forest, names: &Names) -> Vec<String> {
    let one = |d: &Derivation| {
        let features = forest.features_of(&d.edges);
        let mut features: Vec<(&str, f64)> =
            features.iter().map(|&(id, value)| (names.name(id), value)).collect();
        features.sort_by(|a, b| a.0.cmp(b.0));
        format!("{} {features:?}", slow_text(forest, &d.edges))
    };
    let mut all: Vec<String> = every(forest).iter().map(one).collect();
    all.sort();
    all
}

#[test]
fn json_lines_come_back() {
    let names: Names = named();
    for forest in forests() {
        let mut line = Vec::new();
        jsonl::write(&forest, "s 1", &names, &mut line);
        let line = String::from_utf8(line).unwrap();
        let mut others = Names::new();
        let (id, again) = jsonl::read(&line, &mut others, ("x.jsonl", 1)).unwrap();
        assert_eq!(id, "s 1");
        assert_eq!((listed(&again, &others), &again.scores), (listed(&forest, &names), &forest.scores));
        assert_eq!((&again.spans, &again.links, &again.tags), (&forest.spans, &forest.links, &forest.tags));
        // Names come in another order; nothing else changes.
        let mut twice = Vec::new();
        jsonl::write(&again, &id, &others, &mut twice);
        assert_eq!((twice.len(), again.edges()), (line.len(), forest.edges()));
    }
}

fn named() -> Names {
    let mut names = Names::new();
    for name in ["zero", "one", "a \"two\"", "three"] {
        names.intern(name);
    }
    names
}

#[test]
fn json_lines_are_read_with_distrust() {
    let read = |line: &str| jsonl::read(line, &mut Names::new(), ("x.jsonl", 7));
    let (id, forest) = read(
        r#"{"id": 3, "nodes": 3, "root": 0, "edges": [{"head": 0, "tails": [2], "target": ["the", 0]},
            {"head": 2, "target": ["house"], "score": -1.5, "features": {"LM": -2}}]}"#,
    )
    .unwrap();
    assert_eq!((id.as_str(), forest.nodes, forest.edges()), ("3", 2, 2));
    assert_eq!(forest.text_of(&forest.kbest(1, true)[0].edges), "the house");
    for (line, told) in [
        ("x", "a JSON object"),
        ("[]", "a JSON object"),
        (r#"{"nodes": 1}"#, "a list of `edges`"),
        (r#"{"nodes": -1, "edges": []}"#, "a number of `nodes`"),
        (r#"{"nodes": 1, "edges": [], "arcs": 1}"#, "no `arcs`"),
        (r#"{"nodes": 1, "edges": [{"head": 0}]}"#, "`target` in edge 0"),
        (r#"{"nodes": 1, "edges": [{"head": 0, "target": [""]}]}"#, "`target` in edge 0"),
        (r#"{"nodes": 1, "edges": [{"head": 0, "target": [0]}]}"#, "has no such tail"),
        (r#"{"nodes": 1, "edges": [{"head": 4, "target": []}]}"#, "none with number 4"),
        (r#"{"nodes": 1, "edges": [{"head": 0, "tails": [0], "target": [0]}]}"#, "cycle"),
        (r#"{"nodes": 1, "edges": [{"head": 0, "tails": [], "target": [], "score": "x"}]}"#, "`score`"),
        (r#"{"nodes": 1, "edges": [{"head": 0, "target": [], "links": [[1]]}]}"#, "`links`"),
    ] {
        let error = read(line).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("x.jsonl:7"), "{line}: {error}");
    }
}

#[test]
fn the_form_of_cdec_comes_back() {
    let names = named();
    for forest in forests() {
        let mut line = Vec::new();
        cdec::write(&forest, &names, &["das", "Haus"], &mut line).unwrap();
        let mut others = Names::new();
        let again = cdec::read(std::str::from_utf8(&line).unwrap(), &mut others, ("x", 1)).unwrap();
        assert_eq!(listed(&again, &others), listed(&forest, &names));
    }
}

/// A forest as cdec writes it: features by number or by name, spans that mean nothing, a lattice whose start has no edges.
#[test]
fn a_forest_of_cdec_is_read() {
    let mut names = Names::new();
    let line = r#"{"rules":[1,"[X] ||| a ||| a",2,"[X] ||| [X] B [X] ||| [2] b [1]"],"features":["f1","f2"],
        "edges":[{"tail":[],"spans":[24568,32767,24568,32767],"feats":[],"rule":1}],"node":{"in_edges":[0],"cat":"X"},
        "edges":[{"tail":null,"feats":[0,-0.5,"f3",2],"rule":"[X] ||| c ||| c d ||| f=1"}],"node":{"in_edges":[1]},
        "edges":[{"tail":[0,1],"feats":[1,-0.1],"rule":2}],"node":{"in_edges":[2],"cat":"S"}}"#;
    let forest = cdec::read(line, &mut names, ("x", 1)).unwrap();
    let best = &forest.kbest(1, true)[0].edges;
    assert_eq!((forest.text_of(best), forest.label(2), forest.label(1)), ("c d b a".into(), "S", "X"));
    let features: Vec<(&str, f64)> =
        forest.features_of(best).iter().map(|&(id, v)| (names.name(id), v)).collect();
    assert_eq!(features, [("f1", -0.5), ("f2", -0.1), ("f3", 2.0)]);
    let lattice = r#"{"rules":[1,"[X] ||| [X] a ||| [1] a"],"edges":[],"node":{"in_edges":[]},
        "edges":[{"tail":[0],"rule":1}],"node":{"in_edges":[0]}}"#;
    let forest = cdec::read(lattice, &mut names, ("x", 1)).unwrap();
    assert_eq!(forest.text_of(&forest.kbest(1, true)[0].edges), "a");
    for (line, told) in [
        ("[]", "an object"),
        (r#"{"edges":[{"tail":[],"rule":1}]}"#, "number of one that came before"),
        (r#"{"edges":[],"node":{"in_edges":[0]}}"#, "edges before the node"),
        (r#"{"nodes":[]}"#, "no `nodes`"),
        (
            r#"{"edges":[{"tail":[3],"rule":"[X] ||| [X] ||| [1]"}],"node":{"in_edges":[0]}}"#,
            "none with number 3",
        ),
        (r#"{"edges":[{"tail":[],"rule":"[X] ||| a"}],"node":{"in_edges":[0]}}"#, "rules as"),
        (
            r#"{"features":["f"],"edges":[{"tail":[],"rule":"[X] ||| a ||| a","feats":[1,2]}],"node":{"in_edges":[0]}}"#,
            "that were listed",
        ),
    ] {
        let error = cdec::read(line, &mut names, ("x", 1)).unwrap_err().to_string();
        assert!(error.contains(told), "{line}: {error}");
    }
    let mut odd = Forest { nodes: 1, words: ["[1]"].into_iter().collect(), ..Forest::default() };
    odd.add(Edge { symbols: &[0], ..Edge::default() }, []);
    assert!(
        cdec::write(&odd, &names, &[], &mut Vec::new()).unwrap_err().to_string().contains("no way to write")
    );
}

#[test]
fn columns_come_back_and_are_checked() {
    let all: Vec<Forest> = forests().take(60).chain([Forest::default()]).collect();
    let columns = Columns::of(&all);
    let again = columns.forests().unwrap();
    let names = named();
    for (forest, again) in all.iter().zip(&again) {
        assert_eq!(listed(again, &names), listed(forest, &names));
        assert_eq!((&again.scores, &again.links, &again.tags), (&forest.scores, &forest.links, &forest.tags));
    }
    assert_eq!(Columns::of(&again), columns);
    for breaking in [
        (|c| c.starts[1] += 1) as fn(&mut Columns),
        |c| c.symbols[0] = 99,
        |c| c.nodes[0] = -1,
        |c| c.heads[0] = 77,
        |c| c.scores.truncate(c.scores.len() - 1),
        |c| c.tail_starts.truncate(c.tail_starts.len() - 1),
        |c| c.labels.push(0),
    ] {
        let mut bad = columns.clone();
        breaking(&mut bad);
        assert!(bad.forests().is_err());
    }
}
