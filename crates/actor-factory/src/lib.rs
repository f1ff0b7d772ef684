//! Actors: profiles, selection, composition and the think-act machine.
