//! AL (Green et al. 2013): the clusters of linked words inside a rule, and words without a link.

use super::local::Firing;
use super::{Common, LocalSet, View, push_word, push_words};
use crate::feature::{Builder, Part};
use crate::rule::Symbol;
use dragoman_base::Result;

/// For each source word with links: `al:f1_f2>e1_e2`, the words that it is linked to and the source words that share
/// any of them, each side sorted and without repetition; a cluster fires as often as it has source words. For each
/// source word without a link: `al:f>`. If wanted, for each such target word: `al:>e`.
struct Clusters {
    inserted: bool,
}

impl LocalSet for Clusters {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        for (at, word) in view.source_words() {
            let linked = |target: u8| view.links.contains(&[at as u8, target]);
            let e = words(
                view.links,
                |&[_, t]| linked(t),
                |&[_, t]| view.target.get(usize::from(t)).and_then(Symbol::word),
            );
            if e.is_empty() {
                out.fire(|name| {
                    push_word(name, word);
                    name.push('>');
                });
                continue;
            }
            let f = words(
                view.links,
                |&[_, t]| linked(t),
                |&[s, _]| view.source.get(usize::from(s)).and_then(Symbol::word),
            );
            out.fire(|name| {
                push_words(name, f);
                name.push('>');
                push_words(name, e);
            });
        }
        if self.inserted {
            for (_, word) in view.target_words().filter(|&(at, _)| view.unlinked(at)) {
                out.fire(|name| {
                    name.push('>');
                    push_word(name, word);
                });
            }
        }
    }
}

/// The words that `word` finds at some links, sorted, each once.
fn words<'a>(
    links: &[[u8; 2]],
    which: impl Fn(&[u8; 2]) -> bool,
    word: impl Fn(&[u8; 2]) -> Option<&'a str>,
) -> Vec<&'a str> {
    let mut found: Vec<&str> = links.iter().filter(|link| which(link)).filter_map(word).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// `al`, with `inserted` for target words without a link.
pub fn clusters(part: &Part, to: &mut Builder) -> Result<()> {
    let inserted = part.flag("inserted")?;
    let common = Common::new(part, to, true)?;
    to.add_local(common, Clusters { inserted });
    Ok(())
}
