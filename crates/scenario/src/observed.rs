//! What free runs can observe, by name.
//!
//! The oracles themselves are code in `history/`; a test holds this list to theirs.
//! Several judge one property of the model under names of their own, because what is
//! done under the lock shows its violation in another way.

use lockproof_model::world::catalogue::Property;

/// The names of the oracles.
pub const OBSERVABLE: [&str; 12] = [
    "mutual-exclusion-belief",
    "mutual-exclusion-validity",
    "mutual-exclusion-effect",
    "coupons",
    "lottery",
    "lost-updates",
    "owner-only-release",
    "no-orphan",
    "deadlock-freedom",
    "fence-monotonicity",
    "honest-outcome",
    "wake-up",
];

/// Oracles that judge a model property under another name.
const EFFECTS: [&str; 3] = ["coupons", "lottery", "lost-updates"];

/// The model's property that an oracle's violation is a violation of; `None` if the
/// model has no such property.
pub fn property_of(oracle: &str) -> Option<&str> {
    let id = match EFFECTS.contains(&oracle) {
        true => "mutual-exclusion-effect",
        false => oracle,
    };
    Property::parse(id).map(|_| id)
}
