//! Columns that Python sees: strings, interned names, sparse rows.

use crate::errors::{invalid, to_py};
use crate::text::Text;
use crate::threads;
use crate::weights::names_pack;
use dragoman_base::{Names as BaseNames, Texts as BaseTexts, io, sparse};
use dragoman_stream::pools;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyIterator, PyList, PyTuple};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, RwLock};

/// A column of strings in two flat arrays; a read-only `Sequence[str]`.
#[pyclass(frozen, sequence, module = "dragoman._core")]
pub struct Texts {
    pub inner: Arc<BaseTexts>,
}

impl From<BaseTexts> for Texts {
    fn from(inner: BaseTexts) -> Self {
        Self { inner: Arc::new(inner) }
    }
}

/// Python's index into a sequence of `len`: negative counts from the end.
fn position(index: isize, len: usize) -> PyResult<usize> {
    let at = if index < 0 { index + len as isize } else { index };
    usize::try_from(at).ok().filter(|&i| i < len).ok_or_else(|| PyIndexError::new_err("index out of range"))
}

#[pymethods]
impl Texts {
    #[new]
    fn new(strings: Text<Vec<PyBackedStr>>) -> Self {
        strings.iter().map(|s| &**s).collect::<BaseTexts>().into()
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<&str> {
        Ok(self.inner.get(position(index, self.inner.len())?))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.inner.iter())?.try_iter()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        format!("Texts({} strings, {} bytes)", self.inner.len(), self.inner.bytes().len())
    }

    /// All strings as a Python list.
    fn to_list(&self) -> Vec<&str> {
        self.inner.iter().collect()
    }

    /// The strings at `indices`, in that order.
    fn take(&self, indices: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let mut texts = BaseTexts::new();
        for &index in indices.as_slice()? {
            texts.push(self.inner.get(position(index as isize, self.inner.len())?));
        }
        Ok(texts.into())
    }

    /// By content.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let texts = &slf.get().inner;
        let offsets = PyArray1::from_slice(py, texts.offsets());
        Ok((core(py, "texts_unpack")?, (PyBytes::new(py, texts.bytes()), offsets).into_pyobject(py)?))
    }

    /// All bytes, one string after the other: a view, not a copy.
    #[getter]
    fn bytes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        view(slf, slf.get().inner.bytes())
    }

    /// Where each string starts in `bytes`, and where the last ends: a view, not a copy.
    #[getter]
    fn offsets<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        view(slf, slf.get().inner.offsets())
    }
}

/// What pickle wants of an object: what to call with what.
pub type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// Something of this module by its name.
pub fn core<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("dragoman._core")?.getattr(name)
}

/// The column that a pickle holds.
#[pyfunction]
pub fn texts_unpack(bytes: &[u8], offsets: PyReadonlyArray1<'_, i64>) -> PyResult<Texts> {
    let text = std::str::from_utf8(bytes).ok();
    let texts = text.and_then(|text| BaseTexts::from_parts(text.to_owned(), offsets.to_vec().ok()?));
    texts.map(Texts::from).ok_or_else(|| invalid("these are no packed texts"))
}

/// A read-only NumPy view of `slice`, which the frozen `owner` keeps alive and never changes.
fn view<'py, T: numpy::Element>(owner: &Bound<'py, Texts>, slice: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    let array = numpy::ndarray::ArrayView1::from(slice);
    // SAFETY: the array's base object is `owner`, so the memory lives as long as the view; the texts behind a
    // frozen handle are never mutated, and the view is made read-only before anyone sees it.
    let array = unsafe { PyArray1::borrow_from_array(&array, owner.clone().into_any()) };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// Interned names: the vocabulary of words, or the table of feature names. Ids count from 0.
#[pyclass(frozen, module = "dragoman._core")]
pub struct Names {
    pub inner: Arc<RwLock<BaseNames>>,
}

impl Names {
    /// Runs `f` with the table locked for reading.
    pub fn read<T>(&self, f: impl FnOnce(&BaseNames) -> T) -> T {
        f(&self.inner.read().expect("no panic while locked"))
    }

    /// Runs `f` with the table locked for writing.
    pub fn write<T>(&self, f: impl FnOnce(&mut BaseNames) -> T) -> T {
        f(&mut self.inner.write().expect("no panic while locked"))
    }
}

#[pymethods]
impl Names {
    #[new]
    #[pyo3(signature = (names = Text(Vec::new()), dense = false))]
    fn new(names: Text<Vec<PyBackedStr>>, dense: bool) -> Self {
        let mut inner = BaseNames::new();
        for name in &*names {
            inner.intern_as(name, dense);
        }
        Self { inner: Arc::new(RwLock::new(inner)) }
    }

    /// The id of `name`, which is added (with the given mark) if it is new.
    #[pyo3(signature = (name, dense = false))]
    fn intern(&self, name: Text, dense: bool) -> u32 {
        self.write(|names| names.intern_as(&name, dense))
    }

    /// The id of `name`, or None.
    fn get(&self, name: Text) -> Option<u32> {
        self.read(|names| names.get(&name))
    }

    /// Whether the name is marked dense: `name= value` rather than `name=value` in n-best lists.
    fn is_dense(&self, name: Text) -> PyResult<bool> {
        self.read(|names| names.get(&name).map(|id| names.is_dense(id)))
            .ok_or_else(|| PyKeyError::new_err(name.to_string()))
    }

    fn __len__(&self) -> usize {
        self.read(BaseNames::len)
    }

    fn __contains__(&self, name: Text) -> bool {
        self.get(name).is_some()
    }

    fn __getitem__(&self, id: isize) -> PyResult<String> {
        self.read(|names| position(id, names.len()).map(|at| names.name(at as u32).to_owned()))
    }

    fn __repr__(&self) -> String {
        format!("Names({})", self.__len__())
    }

    /// All names in order of their ids, as a Python list.
    fn to_list(&self) -> Vec<String> {
        self.read(|names| names.iter().map(str::to_owned).collect())
    }

    /// By content: what comes back is a table of its own.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let packed = names_pack(py, slf.get(), usize::MAX);
        Ok((core(py, "names_unpack")?, (packed,).into_pyobject(py)?))
    }

    /// A table of its own with the same names, ids and marks.
    fn copy(&self) -> Self {
        Self { inner: Arc::new(RwLock::new(self.read(BaseNames::clone))) }
    }
}

/// The values of `names` rearranged to the ids of `to`; names that `names` lacks get 0.
#[pyfunction]
pub fn align_weights<'py>(
    py: Python<'py>,
    names: &Names,
    values: PyReadonlyArray1<'py, f64>,
    to: &Names,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = values.as_slice()?;
    if values.len() > names.__len__() {
        return Err(invalid("there are more values than names"));
    }
    let aligned = if Arc::ptr_eq(&names.inner, &to.inner) {
        let mut all = values.to_vec();
        all.resize(to.__len__(), 0.0);
        all
    } else {
        let value =
            |from: &BaseNames, name: &str| from.get(name).and_then(|id| values.get(id as usize)).copied();
        let one = |from: &BaseNames, to: &BaseNames, id: u32| value(from, to.name(id)).unwrap_or(0.0);
        let all = |from: &BaseNames, to: &BaseNames| -> Vec<f64> {
            let ids = (0..to.len() as u32).into_par_iter().with_min_len(4096);
            pools::apart(|| ids.map(|id| one(from, to, id)).collect())
        };
        py.detach(|| names.read(|from| to.read(|to| all(from, to))))
    };
    Ok(aligned.into_pyarray(py))
}

/// `row · weights` of every sparse row.
#[pyfunction]
pub fn dot_rows<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i64>,
    columns: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (starts, columns) = (starts.as_slice()?, columns.as_slice()?);
    let (values, weights) = (values.as_slice()?, weights.as_slice()?);
    check_spans(starts, columns.len())?;
    if columns.len() != values.len() {
        return Err(invalid("sparse rows need as many columns as values"));
    }
    let product = |span: &[i64]| {
        let span = span[0] as usize..span[1] as usize;
        sparse::dot(&columns[span.clone()], &values[span], weights)
    };
    let scores: Vec<f64> =
        threads::run(py, || starts.par_windows(2).with_min_len(1024).map(product).collect());
    Ok(scores.into_pyarray(py))
}

/// Position of the largest score in each group `starts[g]..starts[g + 1]` (the first of equals); -1 if empty.
#[pyfunction]
pub fn best_per_group<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    starts: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (scores, starts) = (scores.as_slice()?, starts.as_slice()?);
    check_spans(starts, scores.len())?;
    let best = |span: &[i64]| {
        let mut best = if span[0] < span[1] { span[0] } else { -1 };
        for i in span[0]..span[1] {
            if scores[i as usize] > scores[best as usize] {
                best = i;
            }
        }
        best
    };
    Ok(starts.windows(2).map(best).collect::<Vec<i64>>().into_pyarray(py))
}

/// Checks that `starts` cuts `0..len` into consecutive spans, so that kernels may index without fear.
pub fn check_spans(starts: &[i64], len: usize) -> PyResult<()> {
    let rising = starts.windows(2).all(|w| w[0] <= w[1]);
    if rising && starts.first() == Some(&0) && starts.last() == Some(&(len as i64)) {
        Ok(())
    } else {
        Err(invalid(format!("row starts must rise from 0 to the number of entries ({len})")))
    }
}

/// All lines of a text file (gz, zst, xz by name; `-` for standard input).
#[pyfunction]
pub fn read_lines(py: Python<'_>, path: &str) -> PyResult<Texts> {
    py.detach(|| io::read_lines(path)).map(Texts::from).map_err(to_py)
}

/// Writes lines one by one to a file that appears under its name only when it is finished.
#[pyclass(frozen, module = "dragoman._core")]
pub struct LineWriter {
    out: Mutex<Option<io::Output>>,
}

#[pymethods]
impl LineWriter {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let out = py.detach(|| io::Output::create(path)).map_err(to_py)?;
        Ok(Self { out: Mutex::new(Some(out)) })
    }

    /// Writes a line and its end.
    fn write(&self, line: Text) -> PyResult<()> {
        let mut out = self.out.lock().expect("no panic while locked");
        let out = out.as_mut().ok_or_else(|| invalid("this file is finished"))?;
        out.write(line.as_bytes()).and_then(|()| out.write(b"\n")).map_err(to_py)
    }

    /// Completes the file and gives it its name.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let out = self.out.lock().expect("no panic while locked").take();
        let out = out.ok_or_else(|| invalid("this file is finished"))?;
        py.detach(|| out.finish()).map_err(to_py)
    }

    /// Gives the file up; nothing of it stays.
    fn discard(&self) {
        self.out.lock().expect("no panic while locked").take();
    }
}

/// The number of bytes that a text such as `512M` says.
#[pyfunction]
pub fn parse_size(text: &str) -> PyResult<usize> {
    dragoman_base::parse_size(text).map_err(to_py)
}

/// Writes lines to a file that appears only when it is whole (packed by name; `-` for standard output).
#[pyfunction]
pub fn write_lines(py: Python<'_>, path: &str, lines: &Texts) -> PyResult<()> {
    py.detach(|| {
        let mut out = io::Output::create(path)?;
        for line in lines.inner.iter() {
            out.write(line.as_bytes())?;
            out.write(b"\n")?;
        }
        out.finish()
    })
    .map_err(to_py)
}
