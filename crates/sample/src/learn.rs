//! What a neighbourhood teaches: which members are to score more, and by how much the weights move.

use super::rank::{Member, Oracle, Worker};
use dragoman_metric::bleu::incremental::Text;
use dragoman_model::OWN;
use std::time::Instant;

#[cfg(test)]
thread_local! {
    /// Tests may have every gain worked out.
    pub(super) static PROBE_ALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Members that are less probable do not take part in means.
const LIKELY: f64 = 1e-3;

/// A member of the neighbourhood from which is learned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pick {
    member: usize,
    /// Its probability.
    share: f64,
    /// How much of its features goes into the slope.
    factor: f64,
}

impl Worker<'_, '_> {
    /// Moves the weights if model and gain rank the oracle and the sampled member differently.
    pub(super) fn rank(&mut self, at: usize, sampled: usize) {
        let began = self.options.clock.then(Instant::now);
        let (oracle, best, gain) = self.gains(at, sampled);
        if let Some(began) = began {
            self.epoch.gain_time += began.elapsed();
        }
        self.epoch.oracle += best;
        self.epoch.learned_from += 1;
        let (better, closer) =
            (best - gain, self.neighbourhood.scores[oracle] - self.neighbourhood.scores[sampled]);
        let margin = if self.options.margin { best } else { 1.0 };
        // Equation 4: the ranks differ. An oracle that is worse by gain would ask for a negative margin.
        let wrong = closer < 0.0 || (self.options.always && closer < margin * better);
        if better <= 0.0 || !wrong {
            return;
        }
        let pick = |member, factor| Pick { member, share: 0.5, factor };
        let picks = [pick(oracle, 1.0), pick(sampled, -1.0)];
        self.update(at, &picks, margin * better - closer);
    }

    /// Oracle, its gain, and the gain of the sampled member.
    ///
    /// A member whose score and largest possible gain are not above the best sum so far is not looked at further.
    fn gains(&mut self, at: usize, sampled: usize) -> (usize, f64, f64) {
        let Self { epoch, options, members, neighbourhood, scorer, total, sequence, bounds, .. } = self;
        let one = &mut members[at];
        let window = one.words(neighbourhood.window);
        let Member { chain, text, symbols, counts } = one;
        let all = chain.ready.options();
        let mut rest = *total;
        rest.add(&text.tally, -1);
        text.open(window.0, window.1);
        let mut gain_of = |text: &mut Text<'_>, member: usize| {
            epoch.probed.0 += 1;
            neighbourhood.options(chain, member, sequence);
            let mut tally = text.probe(sequence.iter().map(|&option| &symbols[all.place(option)]));
            tally.add(&rest, 1);
            scorer.score(&tally)
        };
        let hope = if options.oracle == Oracle::Hope { 1.0 } else { 1e-9 };
        let gain = gain_of(text, sampled);
        let mut best = (gain + hope * neighbourhood.scores[sampled], sampled, gain);
        bounds.fill(neighbourhood, counts, text.len() - (window.1 - window.0));
        for (member, &score) in neighbourhood.scores.iter().enumerate() {
            if member == sampled || score == f64::NEG_INFINITY {
                continue;
            }
            let most = bounds.of(member, |known, empty, lengths| {
                let mut tally = text.bound(known, empty, lengths);
                tally.add(&rest, 1);
                scorer.score(&tally)
            });
            #[cfg(test)]
            let most = if PROBE_ALL.get() { f64::INFINITY } else { most };
            if hope * score + most <= best.0 {
                continue;
            }
            let gain = gain_of(text, member);
            if gain + hope * score > best.0 {
                best = (gain + hope * score, member, gain);
            }
        }
        text.close();
        epoch.probed.1 += neighbourhood.scores.len() as u64;
        (best.1, best.2, gain)
    }

    /// One step up the expected gain of the neighbourhood: the slope is the covariance of gains and features.
    ///
    /// With p ~ exp(w.h / T), the gradient of sum p gain is sum p (gain - mean) h / T. T is left out: rates are relative.
    pub(super) fn climb(&mut self, at: usize) {
        let total: f64 = self.shares.iter().sum();
        let mut picks = std::mem::take(&mut self.picks);
        picks.extend(self.shares.iter().enumerate().filter_map(|(member, share)| {
            let share = share / total;
            (share > LIKELY).then_some(Pick { member, share, factor: 0.0 })
        }));
        if picks.len() > 1 {
            let began = self.options.clock.then(Instant::now);
            self.rate(at, &mut picks);
            if let Some(began) = began {
                self.epoch.gain_time += began.elapsed();
            }
            self.update(at, &picks, f64::INFINITY);
        }
        picks.clear();
        self.picks = picks;
    }

    /// Sets factors: the probability of each member times its gain above the mean, times the sentences of the batch,
    /// which a change of one of them moves the less the more they are.
    fn rate(&mut self, at: usize, picks: &mut [Pick]) {
        let Self { epoch, members, neighbourhood, scorer, total, sequence, gained, .. } = self;
        let lines = members.len() as f64;
        let one = &mut members[at];
        let window = one.words(neighbourhood.window);
        let Member { chain, text, symbols, .. } = one;
        let all = chain.ready.options();
        let mut rest = *total;
        rest.add(&text.tally, -1);
        text.open(window.0, window.1);
        gained.clear();
        for pick in picks.iter() {
            neighbourhood.options(chain, pick.member, sequence);
            let mut tally = text.probe(sequence.iter().map(|&option| &symbols[all.place(option)]));
            tally.add(&rest, 1);
            gained.push(scorer.score(&tally));
        }
        text.close();
        epoch.probed.0 += picks.len() as u64;
        epoch.probed.1 += neighbourhood.scores.len() as u64;
        let (mut sum, mut mean, mut best) = (0.0, 0.0, 0.0_f64);
        for (pick, &gain) in picks.iter().zip(&*gained) {
            sum += pick.share;
            mean += pick.share * gain;
            best = best.max(gain);
        }
        mean /= sum;
        epoch.oracle += best;
        epoch.learned_from += 1;
        for (pick, gain) in picks.iter_mut().zip(gained) {
            pick.factor = pick.share * lines * (*gain - mean);
        }
    }

    /// Moves the weights along the slope a, the sum of the members' features by their factors: as [`super::Pace`] says, or
    /// by min(b / |a|^2, C) a (after equation 6).
    fn update(&mut self, at: usize, picks: &[Pick], b: f64) {
        let Self {
            epoch, options, members, scratch, neighbourhood, step, fixed, text_ids, text_values, ..
        } = self;
        let chain = &mut members[at].chain;
        for pick in picks {
            let pace = &mut epoch.pace;
            let mut add = |id: u32, value: f64| {
                step.add(id, pick.factor * value);
                pace.differ(id, value);
            };
            let values = text_values.iter().skip(pick.member * text_ids.len());
            text_ids.iter().zip(values).for_each(|(&id, &value)| add(id, value));
            chain.difference(&mut epoch.learned, scratch, neighbourhood, pick.member, &mut add);
            epoch.pace.member(pick.share);
        }
        epoch.pace.neighbourhood();
        let still = |id: u32| fixed.get(id as usize).copied().unwrap_or(false);
        let (mut norm, mut moved) = (0.0, std::mem::take(&mut self.moved));
        step.drain(|id, value| {
            if !still(id) {
                norm += value * value;
                moved.push((id, value));
            }
        });
        if norm > 0.0 {
            epoch.updates += 1;
            if options.rate > 0.0 {
                epoch.pace.steps(options.rate, &mut moved);
            } else {
                epoch.capped += u64::from(b / norm > options.c);
                let size = (b / norm).min(options.c);
                for (_, value) in &mut moved {
                    *value *= size;
                }
            }
            for &(id, value) in &moved {
                epoch.learned.add(id, value);
                let (drift, at) = if id >= OWN {
                    (&mut epoch.drift.1, (id - OWN) as usize)
                } else {
                    (&mut epoch.drift.0, id as usize)
                };
                if drift.len() <= at {
                    drift.resize(at + 1, 0.0);
                }
                drift[at] += epoch.collected as f64 * value;
            }
            epoch.learned.changed();
        }
        moved.clear();
        self.moved = moved;
    }
}
