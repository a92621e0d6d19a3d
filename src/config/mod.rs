//! Configuration: what was written (raw) and what holds, with where each value came from (resolved).
