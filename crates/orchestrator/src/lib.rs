//! The run machine: plan, schedule, watch, replan, answer.
