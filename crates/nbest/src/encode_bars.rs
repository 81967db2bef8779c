//! A candidate as columns between `|||`.

use crate::batch::View;
use crate::encode::{Checked, Encoder, check_alignment, finite_or_missing, unfit};
use crate::format::Format;
use crate::layout::Slot;
use crate::moses::{self, is_alignment};
use crate::{number, trim};
use dragoman_base::Names;
use dragoman_base::error::quote;

impl Encoder {
    /// `id ||| text ||| ...`.
    pub(crate) fn columns(&mut self, id: &str, at: usize, view: &View<'_>, names: &Names) -> Checked {
        let text = view.texts.get(at);
        check_text(text, self.format)?;
        self.out.extend_from_slice(id.as_bytes());
        self.bar(text);
        let total = finite_or_missing(view.totals, at).map_err(|v| format!("the total {v} is not finite"))?;
        let alignment = view.alignments.map(|texts| texts.get(at));
        let extra = view.extra.map_or("", |texts| texts.get(at));
        if self.format == Format::Travatar {
            self.total(total);
        }
        self.bar("");
        self.features(at, view, names)?;
        if self.format != Format::Travatar && (total.is_some() || alignment.is_some() || !extra.is_empty()) {
            self.total(total);
        }
        if let Some(alignment) = alignment {
            check_alignment(alignment)?;
            self.bar(alignment);
        }
        if !extra.is_empty() {
            check_extra(extra, alignment.is_some(), self.format)?;
            self.bar(extra);
            if extra.ends_with('\r') {
                // Else it would pass for a part of the line's end.
                self.out.push(b' ');
            }
        }
        Ok(())
    }

    /// A separator and a column.
    fn bar(&mut self, column: &str) {
        self.out.extend_from_slice(b" ||| ");
        self.out.extend_from_slice(column.as_bytes());
    }

    fn total(&mut self, total: Option<f64>) {
        self.bar("");
        if let Some(total) = total {
            number::write(total, &mut self.out);
        }
    }

    /// The feature column of a list with `|||`.
    fn features(&mut self, at: usize, view: &View<'_>, names: &Names) -> Checked {
        let (columns, values) = view.row(at);
        let start = self.out.len();
        for (k, (&id, &value)) in columns.iter().zip(values).enumerate() {
            self.check(id, value, names)?;
            let (name, gap) = match self.layout.slots[id as usize] {
                Slot::Sparse => (names.name(id), ""),
                Slot::Single => (names.name(id), " "),
                Slot::Part(group, _) => {
                    if self.gather(group, &columns[k..], &values[k..]) {
                        self.blank(start);
                        self.out.extend_from_slice(self.layout.groups[group as usize].name.as_bytes());
                        self.out.push(b'=');
                        for &value in &self.scratch {
                            self.out.push(b' ');
                            number::write(value, &mut self.out);
                        }
                    }
                    continue;
                }
                Slot::Unfit => return Err(unfit(names.name(id), self.format)),
            };
            self.blank(start);
            self.out.extend_from_slice(name.as_bytes());
            self.out.push(b'=');
            self.out.extend_from_slice(gap.as_bytes());
            number::write(value, &mut self.out);
        }
        Ok(())
    }

    /// A blank, unless this is the first item since `start`.
    fn blank(&mut self, start: usize) {
        if self.out.len() > start {
            self.out.push(b' ');
        }
    }
}

/// A text that comes back as it is: no line end, no blanks around it, no separator in it.
fn check_text(text: &str, format: Format) -> Checked {
    let whole = moses::cut(text, 0) == (text, None);
    if whole && !text.contains('\n') {
        return Ok(());
    }
    let what = "line ends, `|||` or blanks around a text";
    Err(format!("{} cannot hold {what}, found {}", format.name(), quote(text)))
}

/// Further columns that come back as they are.
fn check_extra(extra: &str, aligned: bool, format: Format) -> Checked {
    let clean = trim(extra) == extra && !extra.contains('\n');
    let taken = !aligned && is_alignment(moses::cut(extra, 0).0);
    if clean && !taken {
        return Ok(());
    }
    let what = if clean {
        "an extra column that looks like an alignment"
    } else {
        "line ends or outer blanks in an extra column"
    };
    Err(format!("{} cannot hold {what}, found {}", format.name(), quote(extra)))
}
