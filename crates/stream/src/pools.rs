//! Pools of threads that live on from call to call, and the number of threads of the whole process.
//!
//! Kernels that two Python threads run at once share the process-wide pool. A worker that waits for a part of its own
//! kernel may take up another kernel in the meantime. So whoever holds a lock while others work for it must not use the
//! shared pool, lest a worker wait for a lock that its own stack holds: see [`apart`].

use dragoman_base::{Error, Result};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pools that nobody uses at the moment, by the process that they belong to: threads do not survive a fork.
static FREE: Mutex<Vec<(u32, ThreadPool)>> = Mutex::new(Vec::new());

/// The pool of all kernels; rayon's own, one thread for each core, if there is none.
static SHARED: Mutex<Option<Arc<Lease>>> = Mutex::new(None);

/// Locks; nothing is ever left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pool in the hands of one user, who gives it back.
pub struct Lease {
    process: u32,
    pool: Option<ThreadPool>,
}

impl Lease {
    /// A pool of so many threads: a free one, or a new one.
    pub fn new(count: usize) -> Result<Self> {
        let process = std::process::id();
        let fits =
            |(owner, pool): &(u32, ThreadPool)| *owner == process && pool.current_num_threads() == count;
        let mut free = lock(&FREE);
        let found = free.iter().position(fits).map(|at| free.swap_remove(at).1);
        drop(free);
        let pool = found.map_or_else(|| build(count), Ok)?;
        Ok(Self { process, pool: Some(pool) })
    }
}

impl Deref for Lease {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        self.pool.as_ref().expect("given back at the end only")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            lock(&FREE).push((self.process, pool));
        }
    }
}

fn build(count: usize) -> Result<ThreadPool> {
    let name = |number| format!("dragoman-{number}");
    let made = ThreadPoolBuilder::new().num_threads(count).thread_name(name).build();
    made.map_err(|error| Error::Invalid(format!("cannot start {count} threads: {error}")))
}

fn shared() -> Option<Arc<Lease>> {
    let mut shared = lock(&SHARED);
    let lease = shared.as_ref()?;
    if lease.process != std::process::id() {
        // After a fork: the number holds, the threads are gone.
        *shared = Lease::new(lease.current_num_threads()).ok().map(Arc::new);
    }
    shared.clone()
}

/// Sets the number of threads of the process; None is one for each core. Results must not depend on it.
pub fn set(count: Option<usize>) -> Result<()> {
    if count == Some(0) {
        return Err(Error::Invalid("expected at least one thread, found 0".to_owned()));
    }
    if count != get() {
        let made = count.map(Lease::new).transpose()?.map(Arc::new);
        *lock(&SHARED) = made;
    }
    Ok(())
}

/// The number that [`set`] set.
pub fn get() -> Option<usize> {
    lock(&SHARED).as_ref().map(|lease| lease.current_num_threads())
}

/// How many threads there are for a call that asks for so many, or (with None or 0) does not care.
pub fn count(asked: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.filter(|&count| count > 0).or_else(get).unwrap_or_else(cores)
}

/// Runs a kernel on the process-wide pool if there is one.
pub fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match shared() {
        None => work(),
        Some(pool) => pool.install(work),
    }
}

/// Runs a kernel on a pool that nobody else uses: for those who hold a lock until it is done.
pub fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match Lease::new(count(None)) {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Does the same for each of so many items on `threads` threads, all there are unless told; on one, here and now. A
/// single item is done here as well: callers on many threads of their own neither wait for a pool nor for each other.
/// Of several errors the first item's is told, whichever thread was faster; what comes after it is left undone.
pub fn each<T: Send, E: Send + From<Error>>(
    threads: Option<usize>,
    items: usize,
    one: impl Fn(usize) -> std::result::Result<T, E> + Sync,
) -> std::result::Result<Vec<T>, E> {
    let threads = threads.filter(|&count| count > 0);
    if items <= 1 || count(threads) == 1 {
        return (0..items).map(one).collect();
    }
    let failed = AtomicUsize::new(usize::MAX);
    let run = |i: usize| {
        if i > failed.load(Ordering::Relaxed) {
            return None;
        }
        let made = one(i);
        if made.is_err() {
            failed.fetch_min(i, Ordering::Relaxed);
        }
        Some(made)
    };
    let all = || (0..items).into_par_iter().with_max_len(1).map(run).collect::<Vec<_>>();
    let made = match (threads, shared()) {
        (Some(threads), _) => Lease::new(threads)?.install(all),
        (None, Some(pool)) => pool.install(all),
        (None, None) => all(),
    };
    made.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::thread::{ThreadId, current};

    fn workers(threads: usize) -> BTreeSet<String> {
        let name = |_| Ok::<ThreadId, Error>(current().id());
        let met = each(Some(threads), 1000, name).unwrap();
        met.into_iter().map(|id| format!("{id:?}")).collect()
    }

    #[test]
    fn one_thread_is_this_one() {
        assert_eq!(workers(1), BTreeSet::from([format!("{:?}", current().id())]));
    }

    #[test]
    fn a_single_item_is_done_by_its_caller() {
        let name = |_| Ok::<ThreadId, Error>(current().id());
        for threads in [None, Some(1), Some(4)] {
            assert_eq!(each(threads, 1, name).unwrap(), [current().id()]);
        }
    }

    #[test]
    fn pools_live_on() {
        // No other test asks for 5 threads.
        let all: BTreeSet<String> = (0..20).flat_map(|_| workers(5)).collect();
        assert!(all.len() <= 5, "{} threads in 20 calls", all.len());
    }

    #[test]
    fn leases_are_not_shared() {
        let (first, second) = (Lease::new(3).unwrap(), Lease::new(3).unwrap());
        let id = |pool: &ThreadPool| pool.install(|| current().id());
        let ids = |pool: &ThreadPool| (0..50).map(|_| format!("{:?}", id(pool))).collect::<BTreeSet<_>>();
        assert!(ids(&first).is_disjoint(&ids(&second)));
    }

    #[test]
    fn the_first_error_is_told() {
        for threads in [1, 2, 4] {
            let one = |i: usize| if i % 10 == 7 { Err(Error::Invalid(i.to_string())) } else { Ok(i) };
            let error = each(Some(threads), 500, one).unwrap_err();
            assert_eq!(error.to_string(), Error::Invalid("7".to_owned()).to_string());
        }
    }
}
