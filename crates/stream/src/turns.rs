//! Turns: as many callers at work as there are cores; the others wait.
//!
//! Callers on many threads of their own would get through as much without it, but the data that each works with would
//! push the others' out of the caches.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

struct Turns {
    free: Mutex<usize>,
    freed: Condvar,
}

static TURNS: OnceLock<Turns> = OnceLock::new();

thread_local! {
    /// Whether this thread has a turn: work inside of work goes on with the same one, or all could wait for all.
    static HAS: Cell<bool> = const { Cell::new(false) };
}

/// Gives the turn back when it goes.
struct Turn;

impl Turn {
    fn take() -> Option<Self> {
        if HAS.get() {
            return None;
        }
        let turns = turns();
        let free = turns.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = turns.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        HAS.set(true);
        Some(Self)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        HAS.set(false);
        let turns = turns();
        *turns.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        turns.freed.notify_one();
    }
}

fn turns() -> &'static Turns {
    TURNS.get_or_init(|| Turns {
        free: Mutex::new(available_parallelism().map_or(1, usize::from)),
        freed: Condvar::new(),
    })
}

/// Does some work when it is this caller's turn.
pub fn in_turn<T>(work: impl FnOnce() -> T) -> T {
    let _turn = Turn::take();
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{scope, yield_now};

    #[test]
    fn no_more_callers_work_than_there_are_cores() {
        let (working, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        scope(|threads| {
            for _ in 0..4 * turns_in_all() {
                threads.spawn(|| {
                    for _ in 0..50 {
                        in_turn(|| {
                            most.fetch_max(working.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            yield_now();
                            in_turn(yield_now); // work inside of work
                            working.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
        assert!((1..=turns_in_all()).contains(&most.into_inner()));
        assert_eq!(*turns().free.lock().unwrap(), turns_in_all(), "every turn was given back");
    }

    #[test]
    fn a_turn_is_given_back_by_work_that_panics() {
        for _ in 0..=turns_in_all() {
            let broken = std::panic::catch_unwind(|| in_turn(|| panic!("broken")));
            assert!(broken.is_err());
        }
        in_turn(|| ());
    }

    fn turns_in_all() -> usize {
        available_parallelism().map_or(1, usize::from)
    }
}
