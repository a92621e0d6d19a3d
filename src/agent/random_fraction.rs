//! Chance for the pauses between tries, so that clients of a busy server do not come back together.

/// A number from 0 to 1, from the random bits of a UUID.
pub(super) fn random_fraction() -> f64 {
    let bits = uuid::Uuid::new_v4().as_u64_pair().1 & u64::from(u32::MAX);
    #[allow(clippy::cast_precision_loss, reason = "32 bits fit a double exactly")]
    let fraction = bits as f64 / f64::from(u32::MAX);
    fraction
}
