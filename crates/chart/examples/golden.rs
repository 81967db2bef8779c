use dragoman_base::{Names, io::Lines, words};
use dragoman_chart::*;
use dragoman_model::feature::{Kinds, Part};
use dragoman_model::{Input, System};
use dragoman_rules::table::{Builder, Rule};
use dragoman_rules::gap;
struct Instant(f64); impl Instant { fn now() -> Self { let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap(); Self(s.split(' ').next().unwrap().parse::<f64>().unwrap()*1e-9) } fn elapsed(&self) -> std::time::Duration { std::time::Duration::from_secs_f64(Self::now().0 - self.0) } }

fn import(path: &str, out: &str) {
    let (mut source, mut target) = (Names::new(), Names::new());
    source.intern(gap::SOURCE);
    for g in gap::TARGET { target.intern(g); }
    let mut lines = Lines::open(path).unwrap();
    let mut all = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        let f: Vec<&str> = line.split("|||").map(str::trim).collect();
        let mut s: Vec<&str> = words(f[0]).collect(); s.pop();
        let mut t: Vec<&str> = words(f[1]).collect(); t.pop();
        let links: Vec<[u8;2]> = words(f[3]).map(|l| { let (a,b)=l.split_once('-').unwrap(); [a.parse().unwrap(), b.parse().unwrap()] }).collect();
        let is = |w: &str| w == "[X][X]";
        let sg: Vec<usize> = (0..s.len()).filter(|&i| is(s[i])).collect();
        let sids: Vec<u32> = s.iter().map(|w| if is(w) { 0 } else { source.intern(w) }).collect();
        let tids: Vec<u32> = t.iter().enumerate().map(|(j,w)| if is(w) {
            let i = links.iter().find(|l| l[1] as usize == j).unwrap()[0] as usize;
            sg.iter().position(|&x| x==i).unwrap() as u32 } else { target.intern(w) }).collect();
        let links: Vec<[u8;2]> = links.into_iter().filter(|l| !is(s[l[0] as usize])).collect();
        let scores: Vec<f32> = words(f[2]).map(|x| (x.parse::<f64>().unwrap().ln() as f32).max(-100.0)).collect();
        all.push((sids, tids, links, scores));
    }
    all.sort_by(|a,b| a.0.cmp(&b.0));
    let cols: Vec<String> = (0..4).map(|i| format!("TM[{i}]")).collect();
    let mut b = Builder::create(out.as_ref(), &cols, "{}").unwrap();
    for (s,t,l,x) in &all { b.push(Rule { source: s, target: t, links: l, scores: x }).unwrap(); }
    b.finish(source.texts(), target.texts()).unwrap();
}

fn main() {
    let dir = "/work/shared/data/golden-hiero/";
    let table = "/tmp/golden-hiero.rules";
    if !std::path::Path::new(table).exists() { import(&format!("{dir}rule-table.gz"), table); }
    let p = |kind: &str, name: &str, o: &[(&str,&str)]| Part { kind: kind.into(), name: name.into(), options: o.iter().map(|(a,b)| (a.to_string(), b.to_string())).collect() };
    let ln = (2.718f64).ln().to_string();
    let lm = "/tmp/golden.lm";
    if !std::path::Path::new(lm).exists() { dragoman_lm::Model::open("/work/shared/data/golden-moses/lm.arpa.gz").unwrap().save(lm).unwrap(); }
    let parts = [p("unknown-penalty","U",&[]), p("word-penalty","W",&[("ends","2")]), p("phrase-penalty","P",&[("glue","1"),("ends","2")]),
      p("lm","LM",&[("path",lm)]), p("scores","TM",&[("table","0"),("columns","TM[0],TM[1],TM[2],TM[3]"),("group","TM")]),
      p("glue","G",&[("first",&ln),("next",&ln)])];
    let kinds: Kinds<dyn Fn()> = Kinds { dense: &[], sparse: &[] };
    let (system, _) = System::open(&[table.to_string()], &parts, &kinds, |_| Ok(Vec::new())).unwrap();
    let glue = std::env::args().nth(1).as_deref() == Some("glue");
    let value = |n: &str| -> f64 { if glue { match n { "U"=>1.0,"W"=>-1.0,"P"=>0.2,"G"=>1.0,"LM"=>0.5,_=>0.2 } } else { match n { "U"=>1.0,"W"=>-0.6,"P"=>-0.1,"G"=>-0.4,"LM"=>0.5,"TM[2]"=>0.15,_=>0.1 } } };
    let values: Vec<f64> = { let n = system.names().read().unwrap(); n.texts().iter().map(value).collect() };
    let weights = system.weights(None, &values).unwrap();
    let mut lines = Lines::open(&format!("{dir}in.de")).unwrap();
    let mut inputs = Vec::new();
    while let Some(l) = lines.next().unwrap() { inputs.push(Input::plain(l)); }
    // theirs
    let mut theirs = vec![f64::NEG_INFINITY; 100];
    let mut lines = Lines::open(&format!("{dir}{}", if glue {"glue.pop1000.nbest20.gz"} else {"hier.pop5000.nbest20.gz"})).unwrap();
    while let Some(l) = lines.next().unwrap() { let f: Vec<&str> = l.split("|||").map(str::trim).collect(); let i: usize = f[0].parse().unwrap(); let s: f64 = f[3].parse().unwrap(); if s > theirs[i] { theirs[i]=s; } }
    let arg = |n: usize, d: f64| std::env::args().nth(n).and_then(|x| x.parse().ok()).unwrap_or(d);
    let pops: Vec<usize> = std::env::args().nth(2).map_or(vec![200,1000,5000], |x| x.split(',').map(|p| p.parse().unwrap()).collect());
    let nodes = arg(3, 200.0) as usize; let threshold = arg(4, f64::INFINITY) as f32;
    for pop in pops {
        let limits = Limits { nodes, pops: pop, threshold, deadline: None, memory: 1<<30, keep: false };
        let (mut sum, mut wins, mut tp, mut tr, mut ts, mut comp, mut nrules, mut npat) = (0.0, 0, 0.0, 0.0, 0.0, 0, 0, 0);
        let mut worst = Vec::new(); let (mut open, mut all) = (0, 0);
        for round in 0..1 { let _ = round;
        for (i, input) in inputs.iter().enumerate() {
            let t = Instant::now();
            let sentence = system.sentence(input);
            let mut parse = Parse::new(system.tables(), &sentence, Reach { span: 20, pass_through: false });
            tp += t.elapsed().as_secs_f64(); let t = Instant::now();
            comp += parse.bytes();
            npat += parse.patterns.len();
            let rules = Rules::new(&system, &sentence, &weights, &mut parse, Choice { limit: 20, drop_unknown: false }).unwrap();
            nrules += rules.count();
            let ready = Ready::new(&system, &sentence, &rules, &weights).unwrap();
            tr += t.elapsed().as_secs_f64(); let t = Instant::now();
            let graph = Search::new(&ready, &parse, limits).run();
            ts += t.elapsed().as_secs_f64();
            let s = f64::from(graph.nodes[graph.root.unwrap() as usize].score);
            sum += s;
            if s >= theirs[i] - 1e-3 { wins += 1; } else { worst.push((i, theirs[i]-s)); }
        } }
        worst.sort_by(|a,b| b.1.total_cmp(&a.1)); worst.truncate(5);
        println!("pop {pop} nodes {nodes} thr {threshold}: mean {:.4} wins {wins} parse {tp:.3} rules {tr:.3} search {ts:.3} s;  open {open} of {all} {worst:.3?}", sum/100.0);
    }
    println!("theirs {:.4}", theirs.iter().sum::<f64>()/100.0);
}
