//! A ledger of the names that fire on rules: with other weights a sum is a few additions, without texts and locks.
//!
//! The search never adds to the system's table of names, so most names that fire have no number there, and some get
//! one later. Here every name that was met has a number of the ledger's own, which depends on the timing of threads
//! and is seen by nobody else, and behind it the system's number as soon as there is one.

use dragoman_base::Names;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

/// The first piece has `1 << FIRST` entries, every other one twice as many as the one before.
const FIRST: u32 = 10;
/// Entries at most.
const MOST: usize = u32::MAX as usize - (1 << FIRST);

/// Numbers, at first zero, that are read while others are added. Space comes with use.
#[derive(Default)]
struct Growing([OnceLock<Box<[AtomicU32]>>; 32 - FIRST as usize]);

impl Growing {
    fn at(&self, place: u32) -> &AtomicU32 {
        let place = place + (1 << FIRST);
        let size = place.ilog2();
        let made = || (0..1u32 << size).map(|_| AtomicU32::new(0)).collect();
        &self.0[(size - FIRST) as usize].get_or_init(made)[(place - (1 << size)) as usize]
    }
}

/// What is written under a lock.
struct Book {
    /// Names in order of their first entry.
    names: Names,
    /// Where the next list goes.
    next: usize,
}

/// Names and lists of them.
pub struct Ledger {
    /// The system's names.
    system: Arc<RwLock<Names>>,
    book: Mutex<Book>,
    /// For each name the system's number plus one; 0 as long as the system lacks it.
    filed: Growing,
    /// The lists one after the other: how many names, then which.
    lists: Growing,
    /// How many of the system's names are taken into account.
    seen: AtomicUsize,
}

impl Ledger {
    /// An empty one.
    pub fn new(system: Arc<RwLock<Names>>) -> Self {
        let book = Mutex::new(Book { names: Names::new(), next: 1 });
        Self { system, book, filed: Growing::default(), lists: Growing::default(), seen: AtomicUsize::new(0) }
    }

    /// Enters a list and leaves its place in `place`, unless another thread has done so; false if there is no room.
    pub fn enter(&self, place: &AtomicU32, list: &Names, order: &[u32]) -> bool {
        let mut book = self.book.lock().expect("no panic while locked");
        if place.load(Ordering::Acquire) > 0 {
            return true;
        }
        if book.next.max(book.names.len()) + order.len() >= MOST {
            return false;
        }
        let system = self.system.read().expect("no panic while locked");
        let start = book.next as u32;
        self.lists.at(start).store(order.len() as u32, Ordering::Relaxed);
        for (at, &one) in (start + 1..).zip(order) {
            let name = list.name(one);
            let known = book.names.len();
            let own = book.names.intern(name);
            if own as usize == known {
                self.filed.at(own).store(system.get(name).map_or(0, |id| id + 1), Ordering::Relaxed);
            }
            self.lists.at(at).store(own, Ordering::Relaxed);
        }
        book.next += 1 + order.len();
        place.store(start, Ordering::Release);
        true
    }

    /// Takes at least the first `count` of the system's names into account.
    pub fn catch_up(&self, count: usize) {
        if self.seen.load(Ordering::Acquire) >= count {
            return;
        }
        let book = self.book.lock().expect("no panic while locked");
        let system = self.system.read().expect("no panic while locked");
        // What is entered later is looked up in all names there are then.
        if !book.names.is_empty() {
            for id in self.seen.load(Ordering::Relaxed) as u32..system.len() as u32 {
                if let Some(own) = book.names.get(system.name(id)) {
                    self.filed.at(own).store(id + 1, Ordering::Relaxed);
                }
            }
        }
        self.seen.store(system.len(), Ordering::Release);
    }

    /// The list at a place, in order: the system's numbers, none for names that it lacked when [`Ledger::catch_up`]
    /// was last called.
    pub fn list(&self, start: u32) -> impl Iterator<Item = Option<u32>> + '_ {
        let count = self.lists.at(start).load(Ordering::Relaxed);
        (start + 1..=start + count).map(|at| {
            let own = self.lists.at(at).load(Ordering::Relaxed);
            self.filed.at(own).load(Ordering::Relaxed).checked_sub(1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_one_another() {
        let numbers = Growing::default();
        for place in 0..10_000 {
            assert_eq!(numbers.at(place).swap(place + 1, Ordering::Relaxed), 0);
        }
        assert!((0..10_000).all(|place| numbers.at(place).load(Ordering::Relaxed) == place + 1));
    }

    #[test]
    fn names_that_are_filed_later_are_found() {
        let system = Arc::new(RwLock::new(Names::new()));
        let first = system.write().unwrap().intern("b");
        let ledger = Ledger::new(Arc::clone(&system));
        let mut list = Names::new();
        let order: Vec<u32> = ["a", "b", "a", "c"].iter().map(|name| list.intern(name)).collect();
        let place = AtomicU32::new(0);
        assert!(ledger.enter(&place, &list, &order));
        let ids = || ledger.list(place.load(Ordering::Acquire)).collect::<Vec<_>>();
        assert_eq!(ids(), [None, Some(first), None, None]);
        let second = system.write().unwrap().intern("a");
        assert_eq!(ids(), [None, Some(first), None, None]);
        ledger.catch_up(2);
        assert_eq!(ids(), [Some(second), Some(first), Some(second), None]);
        let third = system.write().unwrap().intern("c");
        let other = AtomicU32::new(0);
        let more = [list.intern("d"), list.intern("c")];
        assert!(ledger.enter(&other, &list, &more));
        ledger.catch_up(3);
        assert_eq!(ids()[3], Some(third));
        assert_eq!(ledger.list(other.load(Ordering::Acquire)).collect::<Vec<_>>(), [None, Some(third)]);
    }
}
