//! Count and length bins, and links between frequent words (Cherry 2013, section 5.3).

use super::local::Firing;
use super::pair::push_pair;
use super::symbols::frequent;
use super::{Common, LocalSet, View};
use crate::feature::{Builder, Part};
use dragoman_base::{Names, Result};

/// `bin:count:3-4` (how often the rule was seen, in powers of two), `bin:source:2`, `bin:target:3`,
/// `bin:length:2>3`, and `bin:pair:f>e` for each link between two frequent words.
struct Bins {
    counts: bool,
    frequent: Option<(Names, Names)>,
}

impl LocalSet for Bins {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        if self.counts && view.count >= 1.0 {
            out.fire(|name| {
                name.push_str("count:");
                name.push_str(&count_bin(view.count));
            });
        }
        let (source, target) = (view.source_words().count(), view.target_words().count());
        for text in
            [format!("source:{source}"), format!("target:{target}"), format!("length:{source}>{target}")]
        {
            out.fire(|name| name.push_str(&text));
        }
        let Some((sources, targets)) = &self.frequent else { return };
        for (f, e) in view.links.iter().filter_map(|link| view.pair(link)) {
            if sources.get(f).is_some() && targets.get(e).is_some() {
                out.fire(|name| {
                    name.push_str("pair:");
                    push_pair(name, f, e);
                });
            }
        }
    }
}

/// 1, 2, 3-4, 5-8, ..., 513-1024, and all that is more.
fn count_bin(count: f32) -> String {
    let count = count as u64;
    let upper = count.next_power_of_two();
    match upper {
        1 | 2 => upper.to_string(),
        4..=1024 => format!("{}-{upper}", upper / 2 + 1),
        _ => "1025+".to_owned(),
    }
}

/// `bin`, with `words` (how many words of each side are frequent) and the lists `source_words` and `target_words`.
pub fn bins(part: &Part, to: &mut Builder) -> Result<()> {
    let counts = to.has_counts();
    let size = part.number("words", 0.0)? as usize;
    let frequent = if size > 0 {
        let list = |key: &str| -> Result<Names> {
            let mut names = Names::new();
            for word in frequent(part.need(key)?, size)? {
                names.intern(&word);
            }
            Ok(names)
        };
        Some((list("source_words")?, list("target_words")?))
    } else {
        None
    };
    let common = Common::new(part, to, true)?;
    to.add_local(common, Bins { counts, frequent });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::count_bin;

    #[test]
    fn bins_are_powers_of_two() {
        let bins: Vec<String> = [1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 1024.0, 1025.0].map(count_bin).to_vec();
        assert_eq!(bins, ["1", "2", "3-4", "3-4", "5-8", "5-8", "513-1024", "1025+"]);
    }
}
