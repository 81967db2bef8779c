//! Who does the work of a kernel: a pool of threads, or the thread that asks.
//!
//! A climb is a chain of thousands of kernels that take a fraction of a millisecond each. Where one thread is all there is,
//! handing each of them to a pool of one costs two changes of thread, which on busy cores take longer than the work.

use rayon::prelude::*;
use std::cell::Cell;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Any number of tasks at a time.
pub(super) const ANY: (usize, usize) = (1, usize::MAX);

/// Runs a kernel on this thread. What it would share out it does itself, in the same order: the bits are the same.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// The results of tasks 0, 1, 2, ...; a thread takes `least` to `most` of them at a time, with a state of its own.
pub(super) fn tasks<S, T: Send>(
    count: usize,
    (least, most): (usize, usize),
    state: impl Fn() -> S + Sync + Send,
    task: impl Fn(&mut S, usize) -> T + Sync + Send,
) -> Vec<T> {
    if ALONE.get() {
        let mut own = state();
        return (0..count).map(|number| task(&mut own, number)).collect();
    }
    (0..count).into_par_iter().with_min_len(least).with_max_len(most).map_init(state, task).collect()
}

/// The same for numbered parts of an array.
pub(super) fn parts<T: Send, R: Send>(
    parts: Vec<&mut [T]>,
    least: usize,
    task: impl Fn(usize, &mut [T]) -> R + Sync + Send,
) -> Vec<R> {
    let task = |(number, part): (usize, &mut [T])| task(number, part);
    if ALONE.get() {
        return parts.into_iter().enumerate().map(task).collect();
    }
    parts.into_par_iter().enumerate().with_min_len(least).map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn alone_no_other_thread_is_asked() {
        let mine = thread::current().id();
        let everywhere = || {
            let own = |state: &mut u32, number: usize| {
                *state += 1;
                (number, thread::current().id())
            };
            let mut numbers = [0; 90];
            let threads = parts(numbers.chunks_mut(7).collect(), 1, |number, part| {
                part.fill(number);
                thread::current().id()
            });
            let tasks = tasks(300, (1, 1), || 0, own);
            assert!(tasks.iter().enumerate().all(|(want, &(number, _))| number == want));
            assert!(numbers.iter().enumerate().all(|(at, &number)| number == at / 7));
            threads.into_iter().chain(tasks.into_iter().map(|(_, id)| id)).all(|id| id == mine)
        };
        assert!(alone(everywhere));
        assert!(!everywhere(), "this thread is in no pool");
        assert!(alone(|| alone(|| true) && everywhere()), "the inner one gives back what it found");
    }
}
