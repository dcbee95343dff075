//! Doc comments: how many there are, and how many begin with a question word instead of a verb or a noun.

use std::fmt;

use super::source::SourceFile;

/// First words that leave the subject of a sentence unnamed.
const QUESTION_WORDS: &[&str] = &["What", "How", "Whether", "Who", "Whose", "Whom", "Whoever"];

/// The largest share of a package's doc comments that may begin with one of [`QUESTION_WORDS`], in per cent.
#[cfg(test)]
const MAX_QUESTIONS_PERCENT: usize = 5;

/// First line of a doc comment.
pub(crate) struct DocComment<'s> {
    /// Path of the file from the root of the repository.
    pub(crate) path: &'s str,
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// Text behind the slashes.
    pub(crate) text: &'s str,
}

impl DocComment<'_> {
    /// Returns true if the comment begins with one of [`QUESTION_WORDS`].
    pub(crate) fn is_question(&self) -> bool {
        let word = self.text.split(|letter: char| !letter.is_alphabetic()).next();
        word.is_some_and(|word| QUESTION_WORDS.contains(&word))
    }
}

impl fmt::Display for DocComment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// Counts over some files.
#[derive(Default)]
pub(crate) struct Counts {
    code_lines: usize,
    doc_lines: usize,
    comments: usize,
    questions: usize,
}

impl Counts {
    /// Counts the lines and comments of files: lines outside of tests, comments everywhere.
    pub(crate) fn of<'s>(sources: impl IntoIterator<Item = &'s SourceFile>) -> Self {
        let mut counts = Self::default();
        for source in sources {
            counts.code_lines += source.code_lines().count();
            counts.doc_lines += source.doc_lines();
            for comment in source.doc_comments() {
                counts.comments += 1;
                counts.questions += usize::from(comment.is_question());
            }
        }
        counts
    }

    /// Doc lines for a hundred lines of code.
    fn docs_percent(&self) -> usize {
        100 * self.doc_lines / self.code_lines.max(1)
    }

    /// Comments that begin with a question word, in tenths of a per cent of all.
    fn questions_permille(&self) -> usize {
        1000 * self.questions / self.comments.max(1)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (docs, questions) = (self.docs_percent(), self.questions_permille());
        write!(
            f,
            "{:>7} {:>6} {:>6}.{docs:02} {:>9}",
            self.code_lines,
            self.doc_lines,
            docs / 100,
            self.comments
        )?;
        write!(f, " {:>5} {:>2}.{} %", self.questions, questions / 10, questions % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::TaskContext;

    #[test]
    fn doc_comments_begin_with_a_verb_or_a_noun() {
        let sources = SourceFile::read_all(TaskContext::new().root()).unwrap();
        let mut packages: Vec<&str> = sources.iter().map(|source| source.package.as_str()).collect();
        packages.dedup();
        for package in packages {
            let of_package = || sources.iter().filter(|source| source.package == package);
            let counts = Counts::of(of_package());
            let questions: Vec<String> = of_package()
                .flat_map(SourceFile::doc_comments)
                .filter(DocComment::is_question)
                .map(|comment| comment.to_string())
                .collect();
            assert!(
                100 * counts.questions <= MAX_QUESTIONS_PERCENT * counts.comments,
                "{package}: begin with what the thing is or does:\n{}",
                questions.join("\n")
            );
        }
    }

    #[test]
    fn questions_are_told_by_their_first_word() {
        let comment = |text| DocComment { path: "a.rs", line: 1, text };
        assert!(comment("Whether it holds.").is_question());
        assert!(comment("How-to of nothing").is_question());
        assert!(!comment("Whatever").is_question());
        assert!(!comment("Returns what was read.").is_question());
    }
}
