//! What the catalogue and the built-in locks say has Chinese words, and they are those of the
//! English that stands there now.

use std::collections::BTreeMap;

use lockproof_model::lock::{LockFile, builtin_names};
use lockproof_model::world::catalogue::{FAULTS, PROPERTIES};
use lockproof_report::chinese::{
    Fingerprints, fault_fingerprint, lock_fingerprint, property_fingerprint, translated,
};
use lockproof_report::model::About;

/// What is wrong with a file of words, a line each, with what to do.
fn stale(file: &str, wanted: &BTreeMap<String, String>, have: &Fingerprints) -> Vec<String> {
    let wrong = wanted.iter().filter_map(|(id, english)| match have.get(id.as_str()) {
        None => Some(format!("{file} has no [{id}]: translate it, with english = \"{english}\"")),
        Some(known) if known != english => Some(format!(
            "{file}: the English of [{id}] has changed: translate it anew, then write english = \"{english}\""
        )),
        Some(_) => None,
    });
    let surplus = have.keys().filter(|id| !wanted.contains_key(**id));
    let surplus = surplus.map(|id| format!("{file}: nothing is called [{id}]"));
    wrong.chain(surplus).collect()
}

fn locks() -> BTreeMap<String, String> {
    let fingerprint = |name: &'static str| {
        let file = LockFile::builtin(name).unwrap();
        let about = About {
            works: file.about.works.clone(),
            claims: file.about.claims.clone(),
            repair: file.about.repair.clone(),
        };
        (name.to_owned(), lock_fingerprint(&file.description, &about))
    };
    builtin_names().into_iter().map(fingerprint).collect()
}

#[test]
fn every_fault_every_property_and_every_built_in_lock_has_chinese_words_of_today() {
    let faults = FAULTS
        .iter()
        .map(|info| (info.id.to_owned(), fault_fingerprint(info)));
    let properties = PROPERTIES
        .iter()
        .map(|info| (info.id.to_owned(), property_fingerprint(info)));
    let [of_faults, of_properties, of_locks] = translated();
    let mut wrong = stale("faults.toml", &faults.collect(), &of_faults);
    wrong.extend(stale(
        "properties.toml",
        &properties.collect(),
        &of_properties,
    ));
    wrong.extend(stale("locks.toml", &locks(), &of_locks));
    let folder = "crates/report/src/handbook/zh-CN";
    assert!(wrong.is_empty(), "in {folder}:\n{}", wrong.join("\n"));
}

#[test]
fn a_new_lock_a_changed_one_and_one_that_is_gone_are_told() {
    let wanted = [("token", "aa"), ("new-lock", "bb")];
    let wanted = wanted.map(|(id, english)| (id.to_owned(), english.to_owned()));
    let have = Fingerprints::from([("token", "cc"), ("gone", "dd")]);
    let told = [
        "locks.toml has no [new-lock]: translate it, with english = \"bb\"",
        "locks.toml: the English of [token] has changed: translate it anew, then write english = \"aa\"",
        "locks.toml: nothing is called [gone]",
    ];
    assert_eq!(stale("locks.toml", &wanted.into(), &have), told);
}
