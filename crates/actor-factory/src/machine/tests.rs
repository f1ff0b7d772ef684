mod chaos;
mod compaction;
mod rules;
mod stop;
mod support;
mod transcripts;
