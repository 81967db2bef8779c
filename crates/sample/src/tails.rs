//! A small memory of what follows a window.

use rustc_hash::FxHasher;
use std::hash::Hasher;

/// What follows a window scores more or less after each state: remembered for the members of one neighbourhood.
#[derive(Debug, Default)]
pub struct Tails {
    /// Round, place of the state, value.
    slots: Vec<(u32, u32, f64)>,
    states: Vec<u8>,
    round: u32,
}

const SLOTS: usize = 1 << 10;

impl Tails {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.resize(SLOTS, (0, 0, 0.0));
        self.states.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.fill((0, 0, 0.0));
            self.round = 1;
        }
    }

    /// The value of a state, or the place where it belongs; none if there is no more room.
    pub fn find(&self, state: &[u8]) -> Result<f64, Option<usize>> {
        let mut hasher = FxHasher::default();
        hasher.write(state);
        let mut at = (hasher.finish() >> 20) as usize % SLOTS;
        for _ in 0..8 {
            let (round, place, value) = self.slots[at];
            if round != self.round {
                return Err(Some(at));
            }
            if self.states[place as usize..place as usize + state.len()] == *state {
                return Ok(value);
            }
            at = (at + 1) % SLOTS;
        }
        Err(None)
    }

    /// Stores the value of a state at a place that [`Tails::find`] gave.
    pub fn put(&mut self, at: usize, state: &[u8], value: f64) {
        self.slots[at] = (self.round, self.states.len() as u32, value);
        self.states.extend_from_slice(state);
    }

    /// Changes the value at such a place.
    pub fn set(&mut self, at: usize, value: f64) {
        self.slots[at].2 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_what_has_room_and_forgets_when_told() {
        let mut tails = Tails::default();
        for round in 0..3u32 {
            tails.clear();
            let mut kept = 0;
            for key in 0..2_000u32 {
                let state = (key * 7).to_le_bytes();
                match tails.find(&state) {
                    Ok(_) => panic!("never put"),
                    Err(Some(at)) => {
                        tails.put(at, &state, 0.0);
                        tails.set(at, f64::from(key + round));
                        assert_eq!(tails.find(&state), Ok(f64::from(key + round)));
                        kept += 1;
                    }
                    Err(None) => {}
                }
            }
            assert!(kept > SLOTS / 2 && kept <= SLOTS);
        }
    }
}
