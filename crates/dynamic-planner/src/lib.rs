//! From a goal to a validated plan, and from trouble to a plan patch.
