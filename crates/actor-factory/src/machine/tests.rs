mod chaos;
mod compaction;
mod delegation;
mod rules;
mod stop;
mod support;
mod transcripts;
