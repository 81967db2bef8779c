//! Rules with gaps: what fires on one that is applied to a sentence.

use crate::feature::{Kinds, Part};
use crate::{GAP, Input, OWN, Origin, Rule, Sentence, Sink, System};
use dragoman_base::{Names, Texts};
use dragoman_rules::table::Rule as Row;
use dragoman_rules::{Builder, gap};

/// One rule, "a [1] b [2]" to "[2] u v [1] w", with links a-u and b-w, seen five times; and a phrase.
fn table(path: &std::path::Path) {
    let source: Texts = [gap::SOURCE, "a", "b"].into_iter().collect();
    let target: Texts = [gap::TARGET[0], gap::TARGET[1], "u", "^1", "w"].into_iter().collect();
    let columns = ["s".to_owned(), super::COUNT.to_owned()];
    let mut builder = Builder::create(path, &columns, "{}").unwrap();
    let row = |source, target, links, scores| Row { source, target, links, scores };
    builder.push(row(&[1], &[4], &[[0, 0]], &[-1.0, 0.0])).unwrap();
    let links = [[0, 1], [2, 4]];
    builder.push(row(&[1, 0, 2, 0], &[1, 2, 3, 0, 4], &links, &[-2.0, 5f32.ln()])).unwrap();
    builder.finish(&source, &target).unwrap();
}

fn system(path: &std::path::Path) -> System {
    let part = |kind: &str, options: &[(&str, &str)]| {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Part { kind: kind.to_owned(), name: kind.to_owned(), options }
    };
    let parts = [
        part("scores", &[("columns", "s")]),
        part("word-penalty", &[]),
        part("pt", &[]),
        part("al", &[("inserted", "true")]),
        part("wp", &[]),
        part("ins", &[]),
        part("tb", &[]),
        part("bin", &[]),
    ];
    let kinds = Kinds::<dyn Send> { dense: &[], sparse: &[] };
    System::open(&[path.to_str().unwrap().to_owned()], &parts, &kinds, |_| Ok(Vec::new())).unwrap().0
}

fn fired(system: &System, sentence: &Sentence<'_>, rule: &Rule<'_>) -> Vec<String> {
    let weights = system.weights(None, &[]).unwrap();
    let (mut rows, mut own) = (Vec::new(), Names::new());
    let said = crate::feature::own::Said::default();
    system.list(sentence, rule, (&said, 0), &mut Sink::collecting(&weights, &mut rows, &mut own));
    let names = system.names().read().unwrap();
    let name = |id: u32| if id >= OWN { own.name(id - OWN) } else { names.name(id) };
    rows.iter().map(|&(id, value)| format!("{} {value}", name(id))).collect()
}

#[test]
fn sets_say_what_they_say_of_words_and_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules");
    table(&path);
    let system = system(&path);
    let table = &system.tables()[0];
    assert!(table.has_gaps());
    let rules = &table.rules;
    let (gap, a, b) =
        (rules.gap().unwrap(), rules.source_word("a").unwrap(), rules.source_word("b").unwrap());
    let node = rules.find(&[a, gap, b, gap]).unwrap();
    assert!(!rules.goes_on(node) && rules.goes_on(rules.find(&[a]).unwrap()) && rules.goes_on(rules.root()));
    let number = rules.rules(node).start;
    let target: Vec<u32> = rules.target(number).iter().map(|&word| table.target(word).unwrap()).collect();
    assert_eq!((target[0], target[3]), (GAP + 1, GAP));
    // Gaps are no words of the system.
    assert_eq!(system.vocabulary().texts().iter().collect::<Vec<_>>(), ["u", "^1", "w"]);
    let input = Input::plain("x a y z b q");
    let sentence = system.sentence(&input);
    let rule =
        Rule { origin: Origin::Table(0), number, from: 1, to: 6, gaps: &[(2, 4), (5, 6)], target: &target };
    let names = fired(&system, &sentence, &rule);
    let want = [
        "s -2",
        "word-penalty -3",
        "pt:a_^1_b_^2>^2_u_%5E1_^1_w 1",
        "al:a>u 1",
        "al:b>w 1",
        "al:>%5E1 1",
        "wp:a>u 1",
        "wp:b>w 1",
        "ins:a>%5E1 1",
        "ins:b>%5E1 1",
        "tb:u>%5E1 1",
        "bin:count:5-8 1",
        "bin:source:2 1",
        "bin:target:3 1",
        "bin:length:2>3 1",
    ];
    assert_eq!(names, want);
}
