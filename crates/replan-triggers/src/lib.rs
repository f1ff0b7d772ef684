//! When to change a plan: five triggers and a frequency control, as pure functions.
