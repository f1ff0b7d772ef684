mod chaos;
mod compaction;
mod delegation;
mod rules;
mod said;
mod stop;
mod support;
mod transcripts;
