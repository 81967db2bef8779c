//! When work must end: at a time, or when somebody says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Says that nobody wants the result of some work any more. Clones are the same stop.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Says it.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was said.
    pub fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The end of some work that begins now.
#[derive(Debug, Clone)]
pub struct End {
    until: Option<Instant>,
    stop: Option<Stop>,
}

impl End {
    /// After some time, if that is limited, or with a stop, if there is one.
    pub fn new(time: Option<Duration>, stop: Option<Stop>) -> Self {
        Self { until: time.and_then(|time| Instant::now().checked_add(time)), stop }
    }

    /// Whether it has come.
    #[inline]
    pub fn come(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
            || self.stop.as_ref().is_some_and(Stop::stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_comes_by_time_or_by_word() {
        let stop = Stop::default();
        let (never, told) = (End::new(None, None), End::new(None, Some(stop.clone())));
        let (soon, late) =
            (End::new(Some(Duration::ZERO), None), End::new(Some(Duration::from_secs(3600)), None));
        assert!(!never.come() && !told.come() && soon.come() && !late.come());
        stop.stop();
        assert!(told.come() && stop.stopped() && !never.come());
        assert!(stop == stop.clone() && stop != Stop::default());
    }
}
