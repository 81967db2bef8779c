use dragoman_decode::{feature::Part, search::Limits, *};
fn part(kind: &str, name: &str, options: &[(&str, &str)]) -> Part {
    Part {
        kind: kind.into(),
        name: name.into(),
        options: options.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
    }
}
fn main() {
    let g = "/work/shared/data/golden-moses";
    let out = std::path::PathBuf::from("/tmp/gm.rules");
    if !out.exists() {
        let o = dragoman_rules::ImportOptions {
            rules: format!("{g}/phrase-table.gz"),
            reordering: vec![("lex".into(), format!("{g}/reordering-table.gz"))],
            columns: None,
            out: out.clone(),
            meta: "{}".into(),
            memory: 1 << 30,
        };
        eprintln!("{:?}", dragoman_rules::import(&o).unwrap());
        let ng = dragoman_lm::Model::open(&format!("{g}/lm.arpa.gz")).unwrap();
        ng.save("/tmp/gm.lm").unwrap();
    }
    let args: Vec<String> = std::env::args().collect();
    let which = &args[1];
    let stack: usize = args[2].parse().unwrap();
    let pops: usize = args[3].parse().unwrap();
    let size: usize = args[4].parse().unwrap();
    let parts = [
        part("reordering", "LexicalReordering0", &[("model", "lex"), ("top", "phrase")]),
        part("distortion", "Distortion0", &[]),
        part("lm", "LM0", &[("path", "/tmp/gm.lm")]),
        part("word-penalty", "WordPenalty0", &[]),
        part("phrase-penalty", "PhrasePenalty0", &[]),
        part("scores", "x", &[("columns", "s1,s2,s3,s4"), ("group", "TranslationModel0")]),
        part("unknown-penalty", "UnknownWordPenalty0", &[]),
    ];
    let system = System::open(&["/tmp/gm.rules".into()], &parts).unwrap();
    let ini = std::fs::read_to_string(format!("{g}/moses.{which}.ini")).unwrap();
    let mut weights = vec![0f32; system.names().read().unwrap().len()];
    for line in ini.split("[weight]").nth(1).unwrap().lines() {
        if let Some((name, values)) = line.split_once('=') {
            let values: Vec<f32> = values.split_whitespace().map(|v| v.parse().unwrap()).collect();
            for (i, v) in values.iter().enumerate() {
                let full = if values.len() == 1 { name.to_owned() } else { format!("{name}[{i}]") };
                weights[system.names().read().unwrap().get(&full).unwrap() as usize] = *v;
            }
        }
    }
    let settings = Settings {
        limits: Limits {
            stack,
            pops,
            threshold: f32::INFINITY,
            distortion: Some(6),
            deadline: None,
            memory: 1 << 30,
            keep: size > 1,
        },
        choice: Choice { limit: 20, drop_unknown: false },
        size,
        distinct: true,
        factor: 1000,
        features: size > 1 || args.len() > 5,
        explain: false,
    };
    let text = std::fs::read_to_string(format!("{g}/in.de")).unwrap();
    let inputs: Vec<Input> = text.lines().map(Input::plain).collect();
    let words: usize = inputs.iter().map(|i| i.words.len()).sum();
    let begin = std::time::Instant::now();
    let mut total = 0.0;
    let mut nodes = 0;
    for (i, input) in inputs.iter().enumerate() {
        let t = translate(&system, input, &weights, &settings, None).unwrap();
        total += t.hypotheses[0].score;
        nodes += t.nodes;
        for h in &t.hypotheses {
            println!("{i} ||| {} ||| {:.4}", h.text, h.score);
            if args.len() > 5 {
                for (id, v) in &h.features {
                    print!("{}={v} ", system.names().read().unwrap().name(*id));
                }
                println!();
            }
        }
    }
    let s = begin.elapsed().as_secs_f64();
    eprintln!(
        "{which} stack {stack} pops {pops}: mean {:.4}, {:.2} s, {:.0} words/s, nodes {nodes}",
        total / inputs.len() as f64,
        s,
        words as f64 / s
    );
}
