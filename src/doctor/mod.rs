//! Checks of the environment, each with a remedy.
