//! Jobs in, results out in the same order, with a bounded number in between.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The job with this number has no result: its worker panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost(pub usize);

/// What waits, what is done, and how far it all got.
struct State<J, R> {
    jobs: VecDeque<(usize, J)>,
    /// Results that came before their turn.
    early: BTreeMap<usize, Result<R, Lost>>,
    pushed: usize,
    taken: usize,
    /// No more jobs come.
    closed: bool,
    /// Nobody wants results any more.
    stopped: bool,
}

struct Shared<J, R> {
    state: Mutex<State<J, R>>,
    /// Told when a place in the window is free.
    room: Condvar,
    /// Told when there is a job.
    work: Condvar,
    /// Told when there is a result.
    done: Condvar,
}

impl<J, R> Shared<J, R> {
    /// Locks; whoever panicked while holding the lock left nothing half done.
    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.room.notify_all();
        self.work.notify_all();
        self.done.notify_all();
    }

    /// The next job, waiting for it if need be; none when all is over.
    fn next(&self) -> Option<(usize, J)> {
        let waits = |state: &mut State<J, R>| state.jobs.is_empty() && !state.closed && !state.stopped;
        let mut state = self.work.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        if state.stopped { None } else { state.jobs.pop_front() }
    }

    /// Works until no job is left or nobody wants results.
    fn run(&self, work: &(impl Fn(usize, J) -> R + ?Sized)) {
        while let Some((number, job)) = self.next() {
            // A worker that panics loses its job and goes on with the next: the taker is told.
            let made = catch_unwind(AssertUnwindSafe(|| work(number, job))).map_err(|_| Lost(number));
            self.lock().early.insert(number, made);
            self.done.notify_all();
        }
    }
}

/// A stream of jobs. Dropped, it stops.
pub struct Stream<J, R> {
    shared: Arc<Shared<J, R>>,
    window: usize,
}

impl<J: Send + 'static, R: Send + 'static> Stream<J, R> {
    /// Starts `threads` workers, which are told a job's number, too; at most `window` jobs are under way or have
    /// results that wait to be taken.
    pub fn new(threads: usize, window: usize, work: impl Fn(usize, J) -> R + Send + Sync + 'static) -> Self {
        let state = State {
            jobs: VecDeque::new(),
            early: BTreeMap::new(),
            pushed: 0,
            taken: 0,
            closed: false,
            stopped: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            room: Condvar::new(),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let work = Arc::new(work);
        for _ in 0..threads.max(1) {
            let (shared, work) = (Arc::clone(&shared), Arc::clone(&work));
            std::thread::spawn(move || shared.run(&*work));
        }
        Self { shared, window: window.max(1) }
    }
}

impl<J, R> Stream<J, R> {
    /// Hands in a job; waits while the window is full. Says whether it was taken: not after `close` or `stop`.
    pub fn push(&self, job: J) -> bool {
        let over = |state: &State<J, R>| state.closed || state.stopped;
        let full = |state: &mut State<J, R>| !over(state) && state.pushed - state.taken >= self.window;
        let state = self.shared.room.wait_while(self.shared.lock(), full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if over(&state) {
            return false;
        }
        let number = state.pushed;
        state.jobs.push_back((number, job));
        state.pushed += 1;
        self.shared.work.notify_one();
        true
    }

    /// Says that no more jobs come.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.wake();
    }

    /// Says that nobody wants results any more: whoever waits is let go, and what was not begun never is.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        state.jobs.clear();
        state.early.clear();
        drop(state);
        self.shared.wake();
    }

    /// The result of the next job, waiting for it if need be; none when all are taken and the stream is closed, or when
    /// it was stopped.
    pub fn take(&self) -> Option<Result<R, Lost>> {
        loop {
            if let Some(taken) = self.take_within(Duration::MAX) {
                return taken;
            }
        }
    }

    /// As [`Stream::take`], but none at all if that takes longer: for a taker that must look up now and then.
    #[allow(clippy::option_option)] // no answer yet, or the answer that there is no more
    pub fn take_within(&self, patience: Duration) -> Option<Option<Result<R, Lost>>> {
        let over = |state: &State<J, R>| state.stopped || (state.closed && state.taken == state.pushed);
        let waits = |state: &mut State<J, R>| !over(state) && !state.early.contains_key(&state.taken);
        // No clock counts further than some years.
        let patience = patience.min(Duration::from_secs(1 << 28));
        let waited = self.shared.done.wait_timeout_while(self.shared.lock(), patience, waits);
        let (mut state, time) = waited.unwrap_or_else(PoisonError::into_inner);
        if time.timed_out() {
            return None;
        }
        if over(&state) {
            return Some(None);
        }
        let next = state.taken;
        state.taken += 1;
        self.shared.room.notify_one();
        // Another taker may wait for the result that is next now.
        self.shared.done.notify_all();
        Some(state.early.remove(&next))
    }
}

impl<J, R> Drop for Stream<J, R> {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::thread::{scope, sleep};

    const SOON: Duration = Duration::from_millis(40);

    /// Waits for something that is sure to come.
    fn until(come: impl Fn() -> bool) {
        for _ in 0..1000 {
            if come() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("it did not come");
    }

    /// Feeds numbers, takes all results.
    fn all(stream: &Stream<u64, u64>, jobs: u64) -> Vec<Result<u64, Lost>> {
        scope(|scope| {
            scope.spawn(|| {
                (0..jobs).for_each(|job| assert!(stream.push(job)));
                stream.close();
            });
            std::iter::from_fn(|| stream.take()).collect()
        })
    }

    #[test]
    fn order_is_kept_whatever_takes_how_long() {
        for (threads, window) in [(1, 1), (1, 7), (4, 1), (4, 3), (4, 1000)] {
            let work = |number: usize, job: u64| {
                assert_eq!(number as u64, job);
                if job.is_multiple_of(5) {
                    sleep(Duration::from_millis(job % 7));
                }
                job * job
            };
            let found = all(&Stream::new(threads, window, work), 200);
            assert_eq!(found, (0..200).map(|job| Ok(job * job)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_empty_stream_ends() {
        assert_eq!(all(&Stream::new(2, 3, |_, job| job), 0), []);
    }

    #[test]
    fn no_more_than_the_window_is_under_way() {
        let begun = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&begun);
        let stream = Stream::new(3, 5, move |_, job: usize| {
            seen.fetch_add(1, Ordering::SeqCst);
            job
        });
        let pushed = AtomicUsize::new(0);
        scope(|scope| {
            scope.spawn(|| {
                for job in 0..20 {
                    stream.push(job);
                    pushed.fetch_add(1, Ordering::SeqCst);
                }
                stream.close();
            });
            let both = || (pushed.load(Ordering::SeqCst), begun.load(Ordering::SeqCst));
            until(|| both() == (5, 5));
            sleep(SOON);
            assert_eq!(both(), (5, 5), "results wait in all places");
            assert_eq!(stream.take(), Some(Ok(0)));
            until(|| both() == (6, 6));
            sleep(SOON);
            assert_eq!(both(), (6, 6), "a taken result makes room for one job");
            assert_eq!(std::iter::from_fn(|| stream.take()).count(), 19);
        });
    }

    #[test]
    fn one_slow_job_holds_up_its_results_and_not_the_work() {
        let (go, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let stream = Stream::new(2, 50, move |_, job: u64| {
            if job == 0 {
                gate.lock().unwrap().recv().unwrap();
            }
            job
        });
        (0..10).for_each(|job| assert!(stream.push(job)));
        until(|| stream.shared.lock().early.len() == 9);
        go.send(()).unwrap();
        stream.close();
        assert_eq!(
            std::iter::from_fn(|| stream.take()).collect::<Vec<_>>(),
            (0..10).map(Ok).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_panic_loses_its_own_job_only() {
        for threads in [1, 3] {
            let work = |_, job: u64| {
                assert!(job % 4 != 2, "a job that fails");
                job
            };
            let found = all(&Stream::new(threads, 6, work), 30);
            let want = |job: u64| if job % 4 == 2 { Err(Lost(job as usize)) } else { Ok(job) };
            assert_eq!(found, (0..30).map(want).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_taker_that_leaves_lets_everyone_go() {
        let begun = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&begun);
        let (go, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let stream = Stream::new(1, 4, move |_, job: u64| {
            seen.fetch_add(1, Ordering::SeqCst);
            if job == 1 {
                gate.lock().unwrap().recv().unwrap();
            }
            job
        });
        scope(|scope| {
            let feeder = scope.spawn(|| (0..1000).take_while(|&job| stream.push(job)).count());
            assert_eq!(stream.take(), Some(Ok(0)));
            until(|| begun.load(Ordering::SeqCst) == 2);
            stream.stop();
            assert!(feeder.join().unwrap() <= 5, "the feeder waits no longer");
        });
        go.send(()).unwrap();
        assert_eq!(stream.take(), None);
        assert!(!stream.push(1));
        sleep(SOON);
        assert_eq!(begun.load(Ordering::SeqCst), 2, "what waited is never begun");
    }

    #[test]
    fn a_stream_that_is_dropped_ends_its_workers() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let stream = Stream::new(3, 4, move |_, job: u64| {
            let _ = &held;
            job
        });
        assert!(stream.push(1));
        drop(stream);
        until(|| Arc::strong_count(&alive) == 1);
    }
}
