//! Front end: `slug -p`, for scripts.
