mod chaos;
mod compaction;
mod drive;
mod rules;
mod stop;
mod support;
mod transcripts;
