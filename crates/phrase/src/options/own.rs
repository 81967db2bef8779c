//! Options after own features have seen them all: scored again, ranked again, and cut.

use super::{Opt, Options, Span};
use dragoman_model::feature::own::Said;
use dragoman_model::{Origin, Weights};

/// Adds what fired to the options and keeps the best `limit` of each span and table; 0 keeps all.
pub fn cut(all: Options, said: Said, limit: usize, weights: &Weights) -> Options {
    let mut opts = all.opts;
    for (number, opt) in (0..).zip(opts.iter_mut()) {
        let sum = said.sum(number, weights);
        opt.score += sum;
        opt.estimate += sum;
    }
    let mut made = Options { targets: all.targets, longest: all.longest, said, ..Options::default() };
    // Rows are numbers of options from here on; ties keep the order in which the options were made.
    let mut order: Vec<u32> = Vec::with_capacity(opts.len());
    for spans in all.starts.windows(2) {
        made.starts.push(made.spans.len() as u32);
        for span in &all.spans[spans[0] as usize..spans[1] as usize] {
            order.clear();
            order.extend(span.first..span.last);
            rank(&mut order, &opts);
            keep(&mut made, &mut opts, &order, *span, limit);
        }
    }
    made.starts.push(made.spans.len() as u32);
    made
}

fn rank(order: &mut [u32], opts: &[Opt]) {
    let opt = |number: u32| &opts[number as usize];
    order.sort_by(|&a, &b| {
        opt(b).estimate.total_cmp(&opt(a).estimate).then_with(|| opt(a).row.cmp(&opt(b).row))
    });
}

/// Takes over the options of a span that are among the best of their table.
fn keep(made: &mut Options, opts: &mut [Opt], order: &[u32], span: Span, limit: usize) {
    let first = made.opts.len() as u32;
    let mut taken: Vec<(u16, usize)> = Vec::new();
    for &number in order {
        let mut opt = opts[number as usize];
        if opt.estimate == f32::NEG_INFINITY {
            continue;
        }
        if limit > 0 && matches!(opt.origin(), Origin::Table(_)) {
            let place = taken.iter().position(|&(table, _)| table == opt.table).unwrap_or_else(|| {
                taken.push((opt.table, 0));
                taken.len() - 1
            });
            taken[place].1 += 1;
            if taken[place].1 > limit {
                continue;
            }
        }
        opt.row = number;
        made.opts.push(opt);
    }
    let last = made.opts.len() as u32;
    if last > first {
        made.spans.push(Span { first, last, ..span });
    }
}
