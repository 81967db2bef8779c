//! Compounds split into words that a text has, by their frequencies (Koehn and Knight 2003).
//!
//! Of all ways to write a word as known words, with linking elements between them (`Aktion s plan`), the one with the
//! highest geometric mean of the counts of its parts is taken; the word itself is one of these ways. Case does not matter;
//! parts come in the form that is most frequent: `Haustür` becomes `Haus Tür`.
//!
//! The file has a line that says how to split, `known=split min_length=3 min_count=1 links=s,es`, and then a line for each
//! word, `Haus<TAB>12`.

use dragoman_base::io::{Lines, Output};
use dragoman_base::{Error, Result, words};
use rustc_hash::FxHashMap;

/// Counts of words of letters.
#[derive(Debug, Clone, Default)]
pub struct WordCounter {
    counts: FxHashMap<String, u64>,
}

impl WordCounter {
    /// Counts the words of a line.
    pub fn line(&mut self, line: &str) {
        for word in words(line).filter(|word| word.chars().all(char::is_alphabetic)) {
            match self.counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    self.counts.insert(word.to_owned(), 1);
                }
            }
        }
    }

    /// Adds all lines of a file.
    pub fn file(&mut self, path: &str) -> Result<()> {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            self.line(line);
        }
        Ok(())
    }

    /// Words and counts, the most frequent first, equals in byte order.
    pub fn finish(self) -> Vec<(String, u64)> {
        let mut counts: Vec<_> = self.counts.into_iter().collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts
    }
}

/// What may be a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Fewest characters of a part, without the linking element.
    pub min_length: usize,
    /// Fewest occurrences of a part.
    pub min_count: u64,
    /// What may stand between two parts; nothing may always.
    pub links: Vec<String>,
    /// Whether words that are known stay whole.
    pub unknown_only: bool,
}

impl Parts {
    /// From the first line of a file.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = words(line);
        let mut field = |name: &str| fields.next()?.strip_prefix(name)?.strip_prefix('=');
        let unknown_only = match field("known")? {
            "whole" => true,
            "split" => false,
            _ => return None,
        };
        let (min_length, min_count) = (field("min_length")?.parse().ok()?, field("min_count")?.parse().ok()?);
        let links = field("links")?.split(',').filter(|link| !link.is_empty()).map(str::to_owned).collect();
        fields.next().is_none().then_some(Self { min_length, min_count, links, unknown_only })
    }
}

/// The words of a text, for splitting others.
#[derive(Debug, Clone)]
pub struct Compounds {
    /// All words with their counts.
    counts: FxHashMap<String, u64>,
    /// For a word in small letters: the count of all its forms, and the most frequent form.
    forms: FxHashMap<String, (u64, String)>,
    parts: Parts,
    /// `parts.links` in characters, nothing among them, and each with a hyphen after it.
    links: Vec<Vec<char>>,
}

/// The sum of logarithms of some parts, where the last one starts, and its form.
type Last<'a> = (f64, usize, &'a str);

impl Compounds {
    /// For words with their counts.
    pub fn new(counts: Vec<(String, u64)>, parts: Parts) -> Self {
        let mut forms: FxHashMap<String, (u64, String)> = FxHashMap::default();
        let mut order: Vec<&(String, u64)> = counts.iter().collect();
        order.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for (word, count) in order {
            forms.entry(word.to_lowercase()).or_insert_with(|| (0, word.clone())).0 += count;
        }
        let mut links = vec![Vec::new(), vec!['-']];
        for link in parts.links.iter().map(|link| link.to_lowercase()).filter(|link| !link.is_empty()) {
            links.push(link.chars().collect());
            links.push(link.chars().chain(['-']).collect());
        }
        Self { counts: counts.into_iter().collect(), forms, parts, links }
    }

    /// Writes the words, the most frequent first, to a file that appears when it is whole.
    pub fn write(&self, path: &str) -> Result<()> {
        let mut counts: Vec<_> = self.counts.iter().collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let Parts { min_length, min_count, links, unknown_only } = &self.parts;
        let known = if *unknown_only { "whole" } else { "split" };
        let mut out = Output::create(path)?;
        let links = links.join(",");
        out.write(
            format!("known={known} min_length={min_length} min_count={min_count} links={links}\n").as_bytes(),
        )?;
        for (word, count) in counts {
            out.write(format!("{word}\t{count}\n").as_bytes())?;
        }
        out.finish()
    }

    /// Reads what `write` wrote.
    pub fn read(path: &str) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        let head = lines.next()?.unwrap_or_default();
        let wrong = || Error::format(path, 1, "`known=split min_length=3 min_count=1 links=s,es`", head);
        let parts = Parts::parse(head).ok_or_else(wrong)?;
        let (mut counts, mut number) = (Vec::new(), 1);
        while let Some(line) = lines.next()? {
            number += 1;
            let parsed = line.split_once('\t').and_then(|(word, count)| {
                let count = count.parse::<u64>().ok().filter(|&count| count > 0)?;
                (words(word).count() == 1).then(|| (word.to_owned(), count))
            });
            let wrong = || Error::format(path, number, "a word and its count, `Haus<TAB>12`", line);
            counts.push(parsed.ok_or_else(wrong)?);
        }
        Ok(Self::new(counts, parts))
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether no word is known.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The parts of a word; None if it stays as it is.
    pub fn split(&self, word: &str) -> Option<Vec<&str>> {
        let exact = self.counts.contains_key(word);
        if (exact && self.parts.unknown_only) || !word.chars().all(|c| c.is_alphabetic() || c == '-') {
            return None;
        }
        let lower: Vec<char> = word.to_lowercase().chars().collect();
        let whole = self.forms.get(&lower.iter().collect::<String>());
        let best = self.best(&lower);
        match (whole, best) {
            (Some((count, _)), Some((mean, parts))) if mean > (*count as f64).ln() => Some(parts),
            // Known with other capitals.
            (Some((_, form)), _) if !exact => Some(vec![form]),
            (None, Some((_, parts))) => Some(parts),
            _ => None,
        }
    }

    /// The best way with at least two parts, and the mean logarithm of its counts; of equals, the fewest parts.
    fn best(&self, word: &[char]) -> Option<(f64, Vec<&str>)> {
        let shortest = self.parts.min_length.max(1);
        let most = word.len() / shortest;
        // best[k][i]: k parts that end at i.
        let mut best: Vec<Vec<Option<Last<'_>>>> = vec![vec![None; word.len() + 1]; most + 1];
        best[0][0] = Some((0.0, 0, ""));
        for start in 0..word.len() {
            if best.iter().all(|row| row[start].is_none()) {
                continue;
            }
            for end in start + shortest..=word.len() {
                let Some((count, form)) = self.part(&word[start..end]) else { continue };
                for link in &self.links {
                    let next = end + link.len();
                    // A link is between two parts.
                    let last = end == word.len() && link.is_empty();
                    if !last && (next >= word.len() || word[end..next] != link[..]) {
                        continue;
                    }
                    for k in 0..most {
                        let Some((sum, ..)) = best[k][start] else { continue };
                        let sum = sum + count;
                        if best[k + 1][next].is_none_or(|old| sum > old.0) {
                            best[k + 1][next] = Some((sum, start, form));
                        }
                    }
                }
            }
        }
        let mut found: Option<(f64, usize)> = None;
        for (k, row) in best.iter().enumerate().skip(2) {
            if let Some((sum, ..)) = row[word.len()] {
                let mean = sum / k as f64;
                if found.is_none_or(|old| mean > old.0) {
                    found = Some((mean, k));
                }
            }
        }
        let (mean, count) = found?;
        let (mut parts, mut at) = (Vec::with_capacity(count), word.len());
        for k in (1..=count).rev() {
            let (_, start, form) = best[k][at].expect("it was reached");
            parts.push(form);
            at = start;
        }
        parts.reverse();
        Some((mean, parts))
    }

    /// The logarithm of the count of a part, and its form.
    fn part(&self, text: &[char]) -> Option<(f64, &str)> {
        let (count, form) = self.forms.get(&text.iter().collect::<String>())?;
        (*count >= self.parts.min_count).then(|| ((*count as f64).ln(), form.as_str()))
    }

    /// Splits the words of a line. `each` is called for every word that comes out with the number of its word.
    pub fn apply(&self, line: &str, out: &mut String, mut each: impl FnMut(usize)) {
        let begin = out.len();
        for (number, word) in words(line).enumerate() {
            let parts = self.split(word).unwrap_or_else(|| vec![word]);
            for part in parts {
                if out.len() > begin {
                    out.push(' ');
                }
                out.push_str(part);
                each(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(min_length: usize, min_count: u64, links: &[&str], unknown_only: bool) -> Parts {
        Parts {
            min_length,
            min_count,
            links: links.iter().map(|&link| link.to_owned()).collect(),
            unknown_only,
        }
    }

    fn counted(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
        counts.iter().map(|&(word, count)| (word.to_owned(), count)).collect()
    }

    #[test]
    fn by_hand() {
        // Koehn and Knight's example: Aktionsplan 852, Aktion 960, Plan 710, Akt 224, Ion 1.
        let counts =
            counted(&[("Aktionsplan", 852), ("Aktion", 960), ("Plan", 710), ("Akt", 224), ("Ion", 1)]);
        let all = Compounds::new(counts.clone(), parts(3, 1, &["s", "es"], false));
        // 825.6 for Aktion Plan and 54.2 for Akt Ion Plan, against 852.
        assert_eq!(all.split("Aktionsplan"), None);
        assert_eq!(all.split("Aktionplan"), Some(vec!["Aktion", "Plan"]));
        assert_eq!(all.split("aktionsplan"), Some(vec!["Aktionsplan"]));
        let mut fewer = counts;
        fewer[0].1 = 825;
        let all = Compounds::new(fewer.clone(), parts(3, 1, &["s", "es"], false));
        assert_eq!(all.split("Aktionsplan"), Some(vec!["Aktion", "Plan"]));
        let unknown = Compounds::new(fewer.clone(), parts(3, 1, &["s", "es"], true));
        assert_eq!(unknown.split("Aktionsplan"), None);
        assert_eq!(unknown.split("Planaktion"), Some(vec!["Plan", "Aktion"]));
        assert_eq!(unknown.split("Planesakt"), Some(vec!["Plan", "Akt"]));
        assert_eq!(unknown.split("PLANS-Akt"), Some(vec!["Plan", "Akt"]));
        for whole in ["Planens", "Plans", "Plan2", "3.14", "Plan-", "-Plan", "Akt.Plan", "Schmidt"] {
            assert_eq!(unknown.split(whole), None, "{whole}");
        }
        let strict = Compounds::new(fewer.clone(), parts(4, 1, &[], true));
        assert_eq!(strict.split("Planakt"), None);
        let frequent = Compounds::new(fewer, parts(3, 225, &[], true));
        assert_eq!(frequent.split("Planakt"), None);
    }

    #[test]
    fn lines() {
        let compounds =
            Compounds::new(counted(&[("Haus", 5), ("tür", 1), ("Tür", 2)]), parts(3, 3, &[], true));
        let (mut out, mut owners) = (String::from("|"), Vec::new());
        compounds.apply("eine Haustür  war 3 HAUS", &mut out, |word| owners.push(word));
        assert_eq!(out, "|eine Haus Tür war 3 Haus");
        assert_eq!(owners, [0, 1, 1, 2, 3, 4]);
    }

    #[test]
    fn files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("counts").to_str().unwrap().to_owned();
        let mut counter = WordCounter::default();
        counter.line("Haus b Haus 3 , a's a");
        let counts = counter.finish();
        assert_eq!(counts, counted(&[("Haus", 2), ("a", 1), ("b", 1)]));
        let links = parts(3, 2, &["s", "es"], true);
        Compounds::new(counts.clone(), links.clone()).write(&path).unwrap();
        let lines = dragoman_base::io::read_lines(&path).unwrap();
        let shown = ["known=whole min_length=3 min_count=2 links=s,es", "Haus\t2", "a\t1", "b\t1"];
        assert_eq!(lines.iter().collect::<Vec<_>>(), shown);
        let read = Compounds::read(&path).unwrap();
        assert_eq!((read.parts, read.counts.len(), read.counts["Haus"]), (links, 3, 2));
        let none = parts(3, 2, &[], false);
        Compounds::new(counts, none.clone()).write(&path).unwrap();
        assert_eq!(Compounds::read(&path).unwrap().parts, none);
        let head = "known=whole min_length=3 min_count=2 links=s";
        for bad in ["b", "b\tx", "\t3", "b\t0", "b c\t2", ""] {
            std::fs::write(&path, format!("{head}\n{bad}\n")).unwrap();
            assert!(
                Compounds::read(&path).unwrap_err().to_string().contains("counts:2: expected a word"),
                "{bad}"
            );
        }
        for bad in ["", "a\t1\n", &head.replace("whole", "x"), &head.replace('3', "-"), &format!("{head} s")]
        {
            std::fs::write(&path, bad).unwrap();
            assert!(
                Compounds::read(&path).unwrap_err().to_string().contains("counts:1: expected `known"),
                "{bad}"
            );
        }
    }

    /// All ways to write a word as parts, by trying every end of the first one.
    fn ways(word: &str, known: &[(String, u64)], p: &Parts) -> Vec<Vec<u64>> {
        let mut found = Vec::new();
        for end in p.min_length..=word.len() {
            let count: u64 =
                known.iter().filter(|(form, _)| form.to_lowercase() == word[..end]).map(|w| w.1).sum();
            if count < p.min_count.max(1) {
                continue;
            }
            if end == word.len() {
                found.push(vec![count]);
            }
            let links = p.links.iter().flat_map(|link| [link.clone(), format!("{link}-")]);
            for link in links.chain([String::new(), "-".to_owned()]) {
                if let Some(rest) = word[end..].strip_prefix(&link).filter(|rest| !rest.is_empty()) {
                    found.extend(ways(rest, known, p).into_iter().map(|way| [vec![count], way].concat()));
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn as_trying_all_ways(
            known in prop::collection::btree_map("[abAs]{1,3}", 1..30_u64, 1..12),
            word in "[abs-]{1,9}", length in 1..3_usize, count in 1..6_u64, unknown in any::<bool>(),
        ) {
            let known: Vec<(String, u64)> = known.into_iter().collect();
            let p = parts(length, count, &["s", "as"], unknown);
            let compounds = Compounds::new(known.clone(), p.clone());
            let mean = |way: &[u64]| way.iter().map(|&c| (c as f64).ln()).sum::<f64>() / way.len() as f64;
            let best = ways(&word, &known, &p).iter().filter(|way| way.len() > 1).map(|way| mean(way))
                .fold(f64::NEG_INFINITY, f64::max);
            let whole: u64 = known.iter().filter(|(form, _)| form.to_lowercase() == word).map(|w| w.1).sum();
            let exact = known.iter().any(|(form, _)| *form == word);
            let found = compounds.split(&word);
            if exact && unknown {
                prop_assert_eq!(found, None);
            } else if best > (whole as f64).ln() {
                let found = found.unwrap();
                let of = |part: &str| known.iter().filter(|(form, _)| form.to_lowercase() == part.to_lowercase())
                    .map(|w| w.1).sum::<u64>();
                let counts: Vec<u64> = found.iter().map(|part| of(part)).collect();
                prop_assert!((mean(&counts) - best).abs() < 1e-9);
                prop_assert!(found.len() > 1);
            } else {
                prop_assert_eq!(found.is_some_and(|parts| parts.len() > 1), false);
            }
        }
    }
}
