//! The Python module `dragoman._core`: thin wrappers that convert, release the interpreter, compute, convert.
//!
//! Only arrays, strings and opaque handles cross. `python/dragoman/_core.pyi` is the typed list of all of it.

mod align;
mod classes;
mod columns;
mod corpus;
mod decode;
mod errors;
mod forest_mert;
mod forests;
mod found;
mod learn;
mod learner;
mod lm;
mod maxent;
mod mert;
mod metric;
mod mira;
mod nbest;
mod own;
mod parts;
mod resample;
mod rules;
mod sample;
mod systems;
mod tags;
mod text;
mod threads;
mod tokenize;
mod walk;
mod weights;

use pyo3::prelude::*;

/// The native half of dragoman; use the public names of the package instead.
#[pymodule(gil_used = false)]
mod _core {
    /// The version of the package, for signatures.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::align::{
        AlignModel, AlignShard, AlignShards, AlignTrainer, read_gold, read_links, score_links,
        symmetrise_links, write_links,
    };
    #[pymodule_export]
    use crate::classes::{ClassCounts, ClassTable};
    #[pymodule_export]
    use crate::columns::{
        LineWriter, Names, Texts, align_weights, best_per_group, dot_rows, parse_size, read_lines,
        texts_unpack, write_lines,
    };
    #[pymodule_export]
    use crate::corpus::{
        CorpusCleaner, TruecaseModel, bitext_languages, bitext_sample, language_code, language_fits,
        language_known, normalise_lines, normalise_spans, sniff_file, truecase_undo, words,
    };
    #[pymodule_export]
    use crate::decode::{NativeSystem, NativeWeights, Stop, TranslationStream, read_markup, rule_attributes};
    #[pymodule_export]
    use crate::forest_mert::{ForestLine, ForestLines};
    #[pymodule_export]
    use crate::forests::{ForestPool, NativeForests};
    #[pymodule_export]
    use crate::found::{ExplainedStep, TranslationColumns};
    #[pymodule_export]
    use crate::learn::CandidateLists;
    #[pymodule_export]
    use crate::learner::Learner;
    #[pymodule_export]
    use crate::lm::{LmEstimation, LmMixture, LmModel, lm_convert, lm_copies, lm_estimate, lm_merge, lm_run};
    #[pymodule_export]
    use crate::maxent::maxent_train;
    #[pymodule_export]
    use crate::mert::{LinePool, noisy_copies};
    #[pymodule_export]
    use crate::metric::{NativeMetric, NativeReferences, mbr_choices, refusal};
    #[pymodule_export]
    use crate::mira::{JudgedLists, MiraRun};
    #[pymodule_export]
    use crate::nbest::{NbestReader, NbestWriter, nbest_stat};
    #[pymodule_export]
    use crate::parts::{CompoundModel, PieceModel, pieces_undo, word_counts};
    #[pymodule_export]
    use crate::resample::{bootstrap_sums, shuffle_sums};
    #[pymodule_export]
    use crate::rules::{
        RuleExtraction, RuleScoring, RuleTable, rules_form, rules_import, rules_of_sentence,
        rules_score_count,
    };
    #[pymodule_export]
    use crate::sample::{SampleRanker, sample_translations};
    #[pymodule_export]
    use crate::tags::TagCounts;
    #[pymodule_export]
    use crate::threads::{get_threads, set_threads};
    #[pymodule_export]
    use crate::tokenize::{MosesTokenizer, UnicodeTokenizer, follow_spans};
    #[pymodule_export]
    use crate::walk::{MiraContext, MiraWalk};
    #[pymodule_export]
    use crate::weights::{
        SharedValues, names_dense, names_extend, names_find, names_match, names_pack, names_sets, names_take,
        names_unpack, weights_load, weights_save,
    };
}
