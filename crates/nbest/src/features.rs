//! From feature names in a line to ids: groups with their widths, and a guard against duplicates.

use crate::Fault;
use crate::batch::Record;
use dragoman_base::Names;
use rustc_hash::FxHashMap;

/// The base and position of a component: `TM[2]` is `("TM", 2)`.
pub fn component(name: &str) -> Option<(&str, usize)> {
    let (base, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    let number = crate::order::as_number(index)?;
    Some((base, usize::try_from(number).ok()?))
}

/// The features of a list as its lines name them.
#[derive(Debug, Default)]
pub struct Interner {
    /// The ids of each dense group's components; their number is the group's width.
    groups: Vec<Vec<u32>>,
    by_name: FxHashMap<String, usize>,
    /// The last line that had each feature.
    stamps: Vec<u64>,
    line: u64,
}

impl Interner {
    /// Starts a new line: every feature may come once again.
    pub fn begin(&mut self) {
        self.line += 1;
    }

    /// The id of a sparse feature.
    pub fn sparse(name: &str, names: &mut Names) -> Result<u32, Fault> {
        if name.is_empty() {
            return Err(Fault::words("a feature name before `=`", "none"));
        }
        Ok(names.intern(name))
    }

    /// The number of the dense group `name`, whose values have just been read: `width` of them.
    pub fn group(&mut self, name: &str, width: usize, names: &mut Names) -> Result<usize, Fault> {
        if let Some(&group) = self.by_name.get(name) {
            self.check_width(group, name, width)?;
            return Ok(group);
        }
        if name.is_empty() {
            return Err(Fault::words("a feature name before `=`", "none"));
        }
        if let Some((base, _)) = component(name) {
            let want = format!(
                "a dense feature without an index (`{base}= 1 2` has the parts `{base}[0]`, `{base}[1]`)"
            );
            return Err(Fault::new(want, name));
        }
        let ids = match width {
            0 => return Err(no_values(name)),
            1 => vec![names.intern_as(name, true)],
            _ => (0..width).map(|index| names.intern_as(&format!("{name}[{index}]"), true)).collect(),
        };
        self.groups.push(ids);
        self.by_name.insert(name.to_owned(), self.groups.len() - 1);
        Ok(self.groups.len() - 1)
    }

    /// Whether a known group has the width it always had.
    pub fn check_width(&self, group: usize, name: &str, width: usize) -> Result<(), Fault> {
        let want = self.groups[group].len();
        if width == want {
            return Ok(());
        }
        if width == 0 {
            return Err(no_values(name));
        }
        Err(Fault::words(format!("{want} values of `{name}`, as on earlier lines"), width.to_string()))
    }

    /// Adds the columns of a group to a record that already has its values.
    pub fn push_group(&mut self, group: usize, record: &mut Record, names: &Names) -> Result<(), Fault> {
        for at in 0..self.groups[group].len() {
            let id = self.groups[group][at];
            self.once(id, names)?;
            record.columns.push(id);
        }
        Ok(())
    }

    /// Adds one entry to a record.
    pub fn push(&mut self, id: u32, value: f64, record: &mut Record, names: &Names) -> Result<(), Fault> {
        self.once(id, names)?;
        record.columns.push(id);
        record.values.push(value);
        Ok(())
    }

    /// Notes that the line has feature `id`, which it may have once.
    fn once(&mut self, id: u32, names: &Names) -> Result<(), Fault> {
        let id = id as usize;
        if id >= self.stamps.len() {
            self.stamps.resize(names.len().max(id + 1), 0);
        }
        if self.stamps[id] == self.line {
            return Err(Fault::new("each feature once", names.name(id as u32)));
        }
        self.stamps[id] = self.line;
        Ok(())
    }
}

/// The fault of a dense feature without any value.
pub fn no_values(name: &str) -> Fault {
    Fault::words(format!("a finite number for `{name}`"), "none")
}
