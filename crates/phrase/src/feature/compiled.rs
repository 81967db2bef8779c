//! State features that users bring: compiled functions, known by their address.

use super::{Context, OrderFeature, PreparedOrder, Step};
use dragoman_base::Result;
use dragoman_model::Sink;
use dragoman_model::feature::Builder;
use rustc_hash::FxHashMap;
use std::any::Any;
use std::cell::RefCell;

/// What a compiled function is told about a step.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Facts {
    /// First source word.
    pub start: i64,
    /// The source word after the last.
    pub end: i64,
    /// The source position after the previous phrase; 0 at the start.
    pub last: i64,
    /// Source words that were covered before.
    pub covered: i64,
    /// Source words of the sentence.
    pub length: i64,
    /// 1 if every source word is covered now.
    pub complete: i64,
}

/// Previous state, next state (zeros), target words and their number, facts, values (zeros). 1 is success.
pub type Function = unsafe extern "C" fn(*const u8, *mut u8, *const u32, i64, *const Facts, *mut f64) -> i32;

/// A state feature that is a compiled function.
pub struct Compiled {
    /// For errors.
    pub name: String,
    /// The function.
    pub function: Function,
    /// Keeps the function where it is.
    pub keep: Box<dyn Any + Send + Sync>,
    /// Size of its state.
    pub bytes: usize,
    /// The features whose values it gives.
    pub features: Vec<u32>,
    /// Their names, for errors.
    pub names: Vec<String>,
    /// Asks twice for everything, and remembers what was said, to find functions that are none.
    pub check: bool,
}

impl Compiled {
    /// Names its features.
    pub fn named(mut self, to: &mut Builder) -> Result<Self> {
        self.features = self.names.iter().map(|name| to.dense(name)).collect::<Result<_>>()?;
        Ok(self)
    }
}

impl OrderFeature for Compiled {
    fn state_bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'a>(&'a self, context: Context<'a>) -> Box<dyn PreparedOrder + 'a> {
        let buffers = Buffers::new(self.bytes, self.features.len());
        Box::new(Ready {
            feature: self,
            context,
            work: RefCell::new((buffers, None)),
            seen: RefCell::default(),
        })
    }
}

/// A pattern that no write should leave behind.
const GUARD: u64 = 0xa5c3_96e1_5a3c_691e;
/// Guards behind a buffer: a write of up to so many words past its end is found.
const GUARDS: usize = 8;

/// Where the function works: aligned, apart from everything else, with guards behind.
struct Buffers {
    previous: Vec<u64>,
    next: Vec<u64>,
    /// The bits of numbers.
    values: Vec<u64>,
    /// As long as the longest, and nothing but guards.
    guards: Vec<u64>,
    bytes: usize,
    count: usize,
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: the same memory, for as long as it is borrowed; any bits are bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn as_bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are a `u64`.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

impl Buffers {
    fn new(bytes: usize, count: usize) -> Self {
        let words = vec![GUARD; bytes.div_ceil(8) + GUARDS];
        let values = vec![GUARD; count + GUARDS];
        let guards = vec![GUARD; words.len().max(values.len())];
        Self { previous: words.clone(), next: words, values, guards, bytes, count }
    }

    fn load(&mut self, previous: &[u8]) {
        let Self { bytes, count, .. } = *self;
        as_bytes_mut(&mut self.previous)[..bytes].copy_from_slice(previous);
        as_bytes_mut(&mut self.next)[..bytes].fill(0);
        self.values[..count].fill(0);
    }

    /// The state that was left behind.
    fn state(&self) -> &[u8] {
        &as_bytes(&self.next)[..self.bytes]
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.values[..self.count].iter().map(|&bits| f64::from_bits(bits))
    }

    /// What was written that should not have been.
    fn damage(&self, previous: &[u8]) -> Option<&'static str> {
        let Self { bytes, count, .. } = *self;
        let whole =
            |words: &[u64]| as_bytes(words)[bytes..] == as_bytes(&self.guards[..words.len()])[bytes..];
        if !whole(&self.next) {
            Some("wrote past the end of its state")
        } else if self.values[count..] != self.guards[count..self.values.len()] {
            Some("wrote past the end of its values")
        } else if as_bytes(&self.previous)[..bytes] != *previous || !whole(&self.previous) {
            Some("wrote to the previous state, which is not its own")
        } else {
            None
        }
    }
}

/// State, target words, facts.
type Question = (Vec<u8>, Vec<u32>, Facts);
/// State and the bits of the values.
type Answer = (Vec<u8>, Vec<u64>);

struct Ready<'a> {
    feature: &'a Compiled,
    context: Context<'a>,
    /// Where it works; why it failed.
    work: RefCell<(Buffers, Option<String>)>,
    /// What it was asked and what it said, in check mode.
    seen: RefCell<FxHashMap<Question, Answer>>,
}

impl Ready<'_> {
    /// Calls the function once and looks at what it did.
    fn call(&self, buffers: &mut Buffers, previous: &[u8], target: &[u32], facts: &Facts) -> Option<String> {
        buffers.load(previous);
        let Compiled { function, names, .. } = self.feature;
        // SAFETY: the buffers have the sizes that the function was made for, and room behind; it lives as long as
        // its keeper. What else it does is its maker's business.
        let done = unsafe {
            function(
                buffers.previous.as_ptr().cast(),
                buffers.next.as_mut_ptr().cast(),
                target.as_ptr(),
                target.len() as i64,
                facts,
                buffers.values.as_mut_ptr().cast(),
            )
        };
        if done != 1 {
            return Some("failed: it raised an exception, which is printed above".to_owned());
        }
        if let Some(damage) = buffers.damage(previous) {
            return Some(damage.to_owned());
        }
        let (bad, value) = buffers.values().enumerate().find(|(_, value)| !(*value as f32).is_finite())?;
        Some(format!("gave {value} for `{}`", names[bad]))
    }

    /// Whether it has always given this answer to this question.
    fn consistent(&self, buffers: &Buffers, question: Question) -> bool {
        let answer = (buffers.state().to_vec(), buffers.values[..buffers.count].to_vec());
        *self.seen.borrow_mut().entry(question).or_insert_with(|| answer.clone()) == answer
    }

    fn attempt(&self, buffers: &mut Buffers, step: &Step<'_>, previous: &[u8]) -> Option<String> {
        let target = self.context.options.target(step.option);
        let facts = Facts {
            start: step.from as i64,
            end: step.to as i64,
            last: step.last as i64,
            covered: step.before.count() as i64,
            length: self.context.sentence.len() as i64,
            complete: i64::from(step.complete),
        };
        for _ in 0..if self.feature.check { 2 } else { 1 } {
            let failed = self.call(buffers, previous, target, &facts);
            if failed.is_some() {
                return failed;
            }
            if self.feature.check && !self.consistent(buffers, (previous.to_vec(), target.to_vec(), facts)) {
                let what = "gave two answers to one question: it must depend on its arguments alone";
                return Some(what.to_owned());
            }
        }
        None
    }

    fn complain(&self, step: &Step<'_>, what: &str) -> String {
        let sentence = self.context.sentence;
        let words: Vec<&str> =
            self.context.options.target(step.option).iter().map(|&word| sentence.target_text(word)).collect();
        let (from, to) = (step.from, step.to);
        format!(
            "the feature `{}` {what} (source words {from}-{to}, target `{}`)",
            self.feature.name,
            words.join(" ")
        )
    }
}

impl PreparedOrder for Ready<'_> {
    fn extend(&self, step: &Step<'_>, previous: &[u8], next: &mut [u8], out: &mut Sink<'_>) {
        let (buffers, failed) = &mut *self.work.borrow_mut();
        if failed.is_none() {
            *failed = self.attempt(buffers, step, previous).map(|what| self.complain(step, &what));
        }
        if failed.is_some() {
            out.forbid();
            return;
        }
        next.copy_from_slice(buffers.state());
        for (&feature, value) in self.feature.features.iter().zip(buffers.values()) {
            if value != 0.0 {
                out.add(feature, value as f32);
            }
        }
    }

    fn failure(&self) -> Option<String> {
        self.work.borrow().1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_find_writes_beyond_every_buffer() {
        for bytes in [0, 1, 4, 8, 13] {
            let previous = vec![7u8; bytes];
            let mut buffers = Buffers::new(bytes, 2);
            buffers.load(&previous);
            as_bytes_mut(&mut buffers.next)[..bytes].fill(9);
            buffers.values[1] = 3f64.to_bits();
            assert_eq!(buffers.damage(&previous), None);
            as_bytes_mut(&mut buffers.next)[bytes] ^= 1;
            assert_eq!(buffers.damage(&previous), Some("wrote past the end of its state"));
            as_bytes_mut(&mut buffers.next)[bytes] ^= 1;
            buffers.values[2] = 0;
            assert_eq!(buffers.damage(&previous), Some("wrote past the end of its values"));
            buffers.values[2] = GUARD;
            as_bytes_mut(&mut buffers.previous)[bytes] ^= 1;
            assert!(buffers.damage(&previous).is_some_and(|what| what.contains("previous state")));
            as_bytes_mut(&mut buffers.previous)[bytes] ^= 1;
            assert_eq!(buffers.damage(&previous), None);
            if bytes > 0 {
                as_bytes_mut(&mut buffers.previous)[0] = 8;
                assert!(buffers.damage(&previous).is_some_and(|what| what.contains("previous state")));
            }
            buffers.load(&previous);
            assert!(buffers.state().iter().all(|&byte| byte == 0));
            assert_eq!((buffers.values[1], buffers.damage(&previous)), (0, None));
        }
    }
}
