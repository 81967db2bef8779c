//! N-best lists: a reader and a writer behind opaque handles, and figures about a list.

use crate::columns::{Names, Texts};
use crate::errors::{invalid, to_py};
use crate::text::Text;
use dragoman_base::{Names as BaseNames, Result};
use dragoman_nbest::{Batch, Column, Format, Member, Reader, Stat, View, Writer};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, RwLock};

/// The columns of a batch as Python gets them: ids, starts, texts, row starts, feature ids, values, totals,
/// scores, alignments, extra, columns of the user's own.
type Columns<'py> = (
    Texts,
    Bound<'py, PyArray1<i64>>,
    Texts,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray1<f64>>>,
    Vec<(String, Bound<'py, PyArray1<f64>>)>,
    Option<Texts>,
    Option<Texts>,
    Own<'py>,
);

/// Columns of the user's own: numbers, texts, JSON.
type Own<'py> = (Vec<(String, Bound<'py, PyArray1<f64>>)>, Vec<(String, Texts)>, Vec<(String, Texts)>);

/// Numbers by the names of their columns, as Python lends them.
type GivenNumbers<'py> = Vec<(String, PyReadonlyArray1<'py, f64>)>;

/// The same of texts.
type GivenTexts<'py> = Vec<(String, PyRef<'py, Texts>)>;

/// Columns of the user's own as Python lends them: numbers, texts, JSON.
type GivenOwn<'py> = (GivenNumbers<'py>, GivenTexts<'py>, GivenTexts<'py>);

fn to_columns(py: Python<'_>, batch: Batch) -> Columns<'_> {
    let (mut numbers, mut texts, mut json) = (Vec::new(), Vec::new(), Vec::new());
    for (name, raw) in batch.members {
        match Column::of(raw) {
            Column::Numbers(values) => numbers.push((name, values.into_pyarray(py))),
            Column::Texts(values) => texts.push((name, values.into())),
            Column::Json(values) => json.push((name, values.into())),
        }
    }
    (
        batch.ids.into(),
        batch.starts.into_pyarray(py),
        batch.texts.into(),
        batch.rows.starts.into_pyarray(py),
        batch.rows.columns.into_pyarray(py),
        batch.rows.values.into_pyarray(py),
        batch.totals.map(|totals| totals.into_pyarray(py)),
        batch.scores.into_iter().map(|(name, values)| (name, values.into_pyarray(py))).collect(),
        batch.alignments.map(Texts::from),
        batch.extra.map(Texts::from),
        (numbers, texts, json),
    )
}

/// Reads an n-best list in batches of whole sentences.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NbestReader {
    reader: Mutex<Reader>,
    names: Arc<RwLock<BaseNames>>,
}

#[pymethods]
impl NbestReader {
    #[new]
    fn new(py: Python<'_>, path: &str, dialect: &str, names: &Names) -> PyResult<Self> {
        let reader = py.detach(|| Reader::open(path, Format::parse(dialect)?)).map_err(to_py)?;
        Ok(Self { reader: Mutex::new(reader), names: names.inner.clone() })
    }

    /// The next sentences, with `size` candidates or a few more; None at the end.
    fn next<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Option<Columns<'py>>> {
        let read = || -> Result<Option<Batch>> {
            let mut reader = self.reader.lock().expect("no panic while locked");
            let mut names = self.names.write().expect("no panic while locked");
            reader.next_batch(size, &mut names)
        };
        Ok(py.detach(read).map_err(to_py)?.map(|batch| to_columns(py, batch)))
    }
}

/// Writes an n-best list that appears under its name only when it is finished.
#[pyclass(frozen, module = "dragoman._core")]
pub struct NbestWriter {
    writer: Mutex<Option<Writer>>,
}

#[pymethods]
impl NbestWriter {
    #[new]
    fn new(py: Python<'_>, path: &str, dialect: &str) -> PyResult<Self> {
        let Some(format) = Format::parse(dialect).map_err(to_py)? else {
            return Err(invalid("expected a format to write (moses, cdec, travatar or jsonl), found `auto`"));
        };
        let writer = py.detach(|| Writer::create(path, format)).map_err(to_py)?;
        Ok(Self { writer: Mutex::new(Some(writer)) })
    }

    /// Writes the candidates of some sentences, given as columns.
    #[allow(clippy::too_many_arguments)] // one per column of a list
    fn write(
        &self,
        py: Python<'_>,
        names: &Names,
        ids: &Texts,
        starts: PyReadonlyArray1<'_, i64>,
        texts: &Texts,
        rows: (PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, u32>, PyReadonlyArray1<'_, f64>),
        totals: Option<PyReadonlyArray1<'_, f64>>,
        scores: Text<Vec<(String, PyReadonlyArray1<'_, f64>)>>,
        alignments: Option<&Texts>,
        extra: Option<&Texts>,
        own: GivenOwn<'_>,
    ) -> PyResult<()> {
        let (numbers, plain, json) = own;
        let mut members = Vec::new();
        for (name, values) in &numbers {
            members.push((name.as_str(), Member::Numbers(values.as_slice()?)));
        }
        members
            .extend(plain.iter().map(|(name, texts)| (name.as_str(), Member::Texts(texts.inner.as_ref()))));
        members.extend(json.iter().map(|(name, texts)| (name.as_str(), Member::Json(texts.inner.as_ref()))));
        let columns = scores.iter().map(|(name, values)| Ok((name.as_str(), values.as_slice()?)));
        let view = View {
            ids: &ids.inner,
            starts: starts.as_slice()?,
            texts: &texts.inner,
            rows: (rows.0.as_slice()?, rows.1.as_slice()?, rows.2.as_slice()?),
            totals: totals.as_ref().map(|totals| totals.as_slice()).transpose()?,
            scores: columns.collect::<PyResult<_>>()?,
            alignments: alignments.map(|texts| texts.inner.as_ref()),
            extra: extra.map(|texts| texts.inner.as_ref()),
            members,
        };
        py.detach(|| {
            let mut writer = self.writer.lock().expect("no panic while locked");
            writer.as_mut().map(|writer| names.read(|names| writer.write(&view, names)))
        })
        .ok_or_else(closed)?
        .map_err(to_py)
    }

    /// Completes the list and gives it its name.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.writer.lock().expect("no panic while locked").take().ok_or_else(closed)?;
        py.detach(|| writer.finish()).map_err(to_py)
    }

    /// Gives the list up; nothing of it stays.
    fn discard(&self) {
        drop(self.writer.lock().expect("no panic while locked").take());
    }
}

fn closed() -> PyErr {
    invalid("this list is already finished")
}

/// The figures of a list: sentences, candidates, smallest and largest list, duplicates, number of sparse features,
/// and for each dense feature its name, minimum, mean, maximum and whether it is constant within every list.
type Figures = (u64, u64, u64, u64, u64, usize, Vec<(String, f64, f64, f64, bool)>);

/// Reads a list from end to end and counts.
#[pyfunction]
pub fn nbest_stat(py: Python<'_>, path: &str, dialect: &str) -> PyResult<Figures> {
    let count = || -> Result<Figures> {
        let mut reader = Reader::open(path, Format::parse(dialect)?)?;
        let (mut names, mut stat) = (BaseNames::new(), Stat::default());
        while let Some(batch) = reader.next_batch(4096, &mut names)? {
            stat.add(&batch, &names);
        }
        let dense = stat.features(&names);
        let sparse = names.len() - dense.len();
        let dense = dense.into_iter().map(|f| (f.name, f.min, f.mean, f.max, f.constant)).collect();
        Ok((stat.sentences, stat.candidates, stat.smallest, stat.largest, stat.duplicates, sparse, dense))
    };
    py.detach(count).map_err(to_py)
}
