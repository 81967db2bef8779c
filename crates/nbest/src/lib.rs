//! N-best lists.
