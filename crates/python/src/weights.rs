//! Weights with millions of names: files, and whole tables of names at once, so that Python never holds them one by one.

use crate::columns::Names;
use crate::errors::{invalid, to_py};
use crate::text::Text;
use crate::threads;
use dragoman_base::{Blocks, Error, Names as BaseNames};
use dragoman_stream::pools;
use dragoman_weights::{Found, View, Weights, component, file, load, text, toml};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::sync::{Arc, RwLock};

fn handle(names: BaseNames) -> Names {
    Names { inner: Arc::new(RwLock::new(names)) }
}

/// Names, values, and what the file says about them, as JSON.
type Loaded<'py> = (Names, Bound<'py, PyArray1<f64>>, Option<String>);

/// Reads weights in text, in our TOML or mapped; None for TOML or JSON that needs a full parser.
#[pyfunction]
pub fn weights_load<'py>(py: Python<'py>, path: &str, toml: bool) -> PyResult<Option<Loaded<'py>>> {
    Ok(match threads::run(py, || load(path, toml)).map_err(to_py)? {
        Found::Other => None,
        Found::Weights(found, info) => {
            let Weights { names, values } = *found;
            Some((handle(names), values.into_pyarray(py), info))
        }
    })
}

/// Writes weights as `text`, `toml` or `binary`. `about` is what the form wants of it: lines, or JSON.
#[pyfunction]
pub fn weights_save(
    py: Python<'_>,
    path: &str,
    form: &str,
    names: &Names,
    values: PyReadonlyArray1<'_, f64>,
    about: Text<Vec<(String, String)>>,
) -> PyResult<()> {
    let values = values.as_slice()?;
    if values.len() > names.read(BaseNames::len) {
        return Err(invalid("there are more values than names"));
    }
    let said = about.first().map(|(_, value)| value.as_str()).unwrap_or_default();
    let write = |names: &BaseNames| {
        let view = View { names, values };
        match form {
            "text" => text::write(view, &about, path),
            "toml" => toml::write(view, said, path),
            "binary" => file::write(view, said, path),
            _ => Err(Error::Invalid(format!("unknown form of weights `{form}`"))),
        }
    };
    py.detach(|| names.read(|names| pools::apart(|| write(names)))).map_err(to_py)
}

/// Adds all names of another table, with their marks; the id of each of them.
#[pyfunction]
pub fn names_extend<'py>(py: Python<'py>, names: &Names, more: &Names) -> Bound<'py, PyArray1<u32>> {
    let add = |more: &BaseNames| {
        // Most are there already, as a rule, and many threads may look.
        let mut ids: Vec<u32> = names.read(|names| {
            let one = |id| names.get(more.name(id)).unwrap_or(u32::MAX);
            pools::apart(|| (0..more.len() as u32).into_par_iter().with_min_len(4096).map(one).collect())
        });
        names.write(|names| {
            for (id, at) in ids.iter_mut().enumerate().filter(|(_, at)| **at == u32::MAX) {
                *at = names.intern_as(more.name(id as u32), more.is_dense(id as u32));
            }
        });
        ids
    };
    let ids: Vec<u32> = py.detach(|| {
        if Arc::ptr_eq(&names.inner, &more.inner) {
            return (0..names.read(BaseNames::len) as u32).collect();
        }
        more.read(add)
    });
    ids.into_pyarray(py)
}

/// The id that each name of `of` has in `names`, or -1.
#[pyfunction]
pub fn names_find<'py>(py: Python<'py>, names: &Names, of: &Names) -> Bound<'py, PyArray1<i64>> {
    let find = |names: &BaseNames, of: &BaseNames| -> Vec<i64> {
        let one = |id| names.get(of.name(id)).map_or(-1, i64::from);
        pools::apart(|| (0..of.len() as u32).into_par_iter().with_min_len(4096).map(one).collect())
    };
    py.detach(|| names.read(|names| of.read(|of| find(names, of)))).into_pyarray(py)
}

/// A table of some names, in the order of the ids given, with their marks.
#[pyfunction]
pub fn names_take(py: Python<'_>, names: &Names, ids: PyReadonlyArray1<'_, i64>) -> PyResult<Names> {
    let ids = ids.as_slice()?;
    let take = |names: &BaseNames| {
        let mut some = BaseNames::with_capacity(ids.len(), 0);
        for &id in ids {
            let id = u32::try_from(id).ok().filter(|&id| (id as usize) < names.len());
            let id = id.ok_or_else(|| Error::Invalid("there is no such name".to_owned()))?;
            some.intern_as(names.name(id), names.is_dense(id));
        }
        Ok(some)
    };
    py.detach(|| names.read(take)).map(handle).map_err(to_py)
}

/// The sets that names belong to, sorted, and which of them each name has: what stands before its first `:`, or nothing
/// for a dense feature.
#[pyfunction]
pub fn names_sets<'py>(py: Python<'py>, names: &Names) -> (Vec<String>, Bound<'py, PyArray1<u32>>) {
    let (sets, ids) = py.detach(|| {
        let mut found = BaseNames::new();
        let prefix = |name: &str| name.find(':').filter(|_| component(name).is_none()).unwrap_or(0);
        let ids: Vec<u32> =
            names.read(|names| names.iter().map(|name| found.intern(&name[..prefix(name)])).collect());
        let mut order: Vec<u32> = (0..found.len() as u32).collect();
        order.sort_by_key(|&id| found.name(id));
        let mut rank = vec![0; order.len()];
        for (place, &id) in order.iter().enumerate() {
            rank[id as usize] = place as u32;
        }
        let sets = order.iter().map(|&id| found.name(id).to_owned()).collect();
        (sets, ids.iter().map(|&id| rank[id as usize]).collect::<Vec<u32>>())
    });
    (sets, ids.into_pyarray(py))
}

/// Which names are marked dense.
#[pyfunction]
pub fn names_dense<'py>(py: Python<'py>, names: &Names) -> Bound<'py, PyArray1<bool>> {
    let all = |names: &BaseNames| (0..names.len() as u32).map(|id| names.is_dense(id)).collect::<Vec<bool>>();
    py.detach(|| names.read(all)).into_pyarray(py)
}

/// Which names a pattern fits, in which `*` is any text.
#[pyfunction]
pub fn names_match<'py>(py: Python<'py>, names: &Names, pattern: Text) -> Bound<'py, PyArray1<bool>> {
    let parts: Vec<&str> = pattern.split('*').collect();
    let all = |names: &BaseNames| -> Vec<bool> {
        let one = |id| fits(&parts, names.name(id));
        pools::apart(|| (0..names.len() as u32).into_par_iter().with_min_len(4096).map(one).collect())
    };
    py.detach(|| names.read(all)).into_pyarray(py)
}

/// Whether a name is these parts with any text between them.
fn fits(parts: &[&str], name: &str) -> bool {
    let [first, middle @ .., last] = parts else { return parts == [name] };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The first `count` names and their marks as bytes, for checkpoints.
#[pyfunction]
pub fn names_pack<'py>(py: Python<'py>, names: &Names, count: usize) -> Bound<'py, PyBytes> {
    let pack = |names: &BaseNames| {
        let mut bytes = Vec::new();
        for id in 0..count.min(names.len()) as u32 {
            let name = names.name(id);
            bytes
                .extend_from_slice(&((name.len() as u32) << 1 | u32::from(names.is_dense(id))).to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes
    };
    let bytes = py.detach(|| names.read(pack));
    PyBytes::new(py, &bytes)
}

/// The names that `names_pack` gave.
#[pyfunction]
pub fn names_unpack(bytes: &[u8]) -> PyResult<Names> {
    let mut names = BaseNames::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (name, dense, after) = unpack(rest).ok_or_else(|| invalid("these are no packed names"))?;
        names.intern_as(name, dense);
        rest = after;
    }
    Ok(handle(names))
}

fn unpack(bytes: &[u8]) -> Option<(&str, bool, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    let head = u32::from_le_bytes(*head);
    let (name, rest) = rest.split_at_checked(head as usize >> 1)?;
    Some((std::str::from_utf8(name).ok()?, head & 1 == 1, rest))
}

/// Numbers by feature that never change: changed ones share what they do not touch.
#[pyclass(frozen, module = "dragoman._core")]
pub struct SharedValues {
    inner: Blocks<f64>,
}

#[pymethods]
impl SharedValues {
    /// From plain numbers.
    #[new]
    fn new(values: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        Ok(Self { inner: Blocks::new(values.as_slice()?) })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// The same with other numbers at some places, `size` in all at least. Costs what it touches.
    fn changed(
        &self,
        columns: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f64>,
        size: usize,
    ) -> PyResult<Self> {
        let (columns, values) = (columns.as_slice()?, values.as_slice()?);
        if columns.len() != values.len() {
            return Err(invalid("expected a value for each place"));
        }
        let end = columns.iter().max().map_or(0, |&last| last as usize + 1);
        let mut inner = self.inner.clone();
        inner.grow(size.max(end));
        for (&at, &value) in columns.iter().zip(values) {
            inner.replace(at as usize, value);
        }
        Ok(Self { inner })
    }

    /// The numbers at some places; zero past the end.
    fn take<'py>(
        &self,
        py: Python<'py>,
        columns: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let taken: Vec<f64> = columns.as_slice()?.iter().map(|&at| self.inner.get(at as usize)).collect();
        Ok(taken.into_pyarray(py))
    }

    /// All numbers.
    fn all<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.inner.to_vec().into_pyarray(py)
    }
}
