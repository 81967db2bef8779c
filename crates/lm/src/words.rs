//! The special words.

/// The special words, by id.
pub const SPECIAL: [&str; 3] = ["<unk>", "<s>", "</s>"];
/// Id of `<unk>`, the word for all unknown words.
pub const UNK: u32 = 0;
/// Id of `<s>`, the start of a sentence.
pub const BOS: u32 = 1;
/// Id of `</s>`, the end of a sentence.
pub const EOS: u32 = 2;
