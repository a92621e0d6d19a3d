//! Which folders the person said yes to.
