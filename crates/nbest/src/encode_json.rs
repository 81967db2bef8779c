//! A candidate as a JSON object.

use crate::batch::View;
use crate::encode::{Checked, Encoder, check_alignment, finite_or_missing, unfit};
use crate::json::write_string;
use crate::layout::Slot;
use crate::number;
use dragoman_base::Names;
use dragoman_base::error::quote;

impl Encoder {
    /// `{"id":0,"text":"...",...}`, without the keys that have nothing to say.
    pub(crate) fn object(
        &mut self,
        id: &str,
        numeric: bool,
        at: usize,
        view: &View<'_>,
        names: &Names,
    ) -> Checked {
        self.out.extend_from_slice(b"{\"id\":");
        if numeric {
            self.out.extend_from_slice(id.as_bytes());
        } else {
            write_string(id, &mut self.out);
        }
        self.key(b"text");
        write_string(view.texts.get(at), &mut self.out);
        self.dense_members(at, view, names)?;
        self.sparse_members(at, view, names);
        self.score_members(at, view)?;
        let total = finite_or_missing(view.totals, at).map_err(|v| format!("the total {v} is not finite"))?;
        if let Some(total) = total {
            self.key(b"total");
            number::write(total, &mut self.out);
        }
        if let Some(alignment) = view.alignments.map(|texts| texts.get(at)) {
            check_alignment(alignment)?;
            self.key(b"alignment");
            write_string(alignment, &mut self.out);
        }
        let extra = view.extra.map_or("", |texts| texts.get(at));
        if !extra.is_empty() {
            self.key(b"extra");
            write_string(extra, &mut self.out);
        }
        for (name, column) in view.members.iter().filter(|(_, column)| column.has(at)) {
            self.out.push(b',');
            write_string(name, &mut self.out);
            self.out.push(b':');
            if !column.write(at, &mut self.out) {
                return Err(format!("the value of {} is not finite, or no JSON", quote(name)));
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn key(&mut self, key: &[u8]) {
        self.out.extend_from_slice(b",\"");
        self.out.extend_from_slice(key);
        self.out.extend_from_slice(b"\":");
    }

    /// A member's name, after the object's opening if it is the first.
    fn member(&mut self, object: &[u8], first: bool, name: &str) {
        if first {
            self.key(object);
        }
        self.out.push(if first { b'{' } else { b',' });
        write_string(name, &mut self.out);
        self.out.push(b':');
    }

    fn dense_members(&mut self, at: usize, view: &View<'_>, names: &Names) -> Checked {
        let (columns, values) = view.row(at);
        let mut first = true;
        for (k, (&id, &value)) in columns.iter().zip(values).enumerate() {
            self.check(id, value, names)?;
            match self.layout.slots[id as usize] {
                Slot::Single => {
                    self.member(b"features", first, names.name(id));
                    number::write(value, &mut self.out);
                    first = false;
                }
                Slot::Part(group, _) => {
                    if self.gather(group, &columns[k..], &values[k..]) {
                        let name = std::mem::take(&mut self.layout.groups[group as usize].name);
                        self.member(b"features", first, &name);
                        self.layout.groups[group as usize].name = name;
                        self.array();
                        first = false;
                    }
                }
                Slot::Sparse => {}
                Slot::Unfit => return Err(unfit(names.name(id), self.format)),
            }
        }
        if !first {
            self.out.push(b'}');
        }
        Ok(())
    }

    /// The gathered values as an array.
    fn array(&mut self) {
        for (k, &value) in self.scratch.iter().enumerate() {
            self.out.push(if k == 0 { b'[' } else { b',' });
            number::write(value, &mut self.out);
        }
        self.out.push(b']');
    }

    fn sparse_members(&mut self, at: usize, view: &View<'_>, names: &Names) {
        let (columns, values) = view.row(at);
        let mut first = true;
        for (&id, &value) in columns.iter().zip(values) {
            if self.layout.slots[id as usize] == Slot::Sparse {
                self.member(b"sparse", first, names.name(id));
                number::write(value, &mut self.out);
                first = false;
            }
        }
        if !first {
            self.out.push(b'}');
        }
    }

    fn score_members(&mut self, at: usize, view: &View<'_>) -> Checked {
        let mut first = true;
        for (name, column) in &view.scores {
            let score = finite_or_missing(Some(column), at);
            let score = score.map_err(|v| format!("the score {v} of {} is not finite", quote(name)))?;
            if let Some(score) = score {
                self.member(b"scores", first, name);
                number::write(score, &mut self.out);
                first = false;
            }
        }
        if !first {
            self.out.push(b'}');
        }
        Ok(())
    }
}
