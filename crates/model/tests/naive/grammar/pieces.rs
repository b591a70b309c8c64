//! Small pieces of locks: values, leases, what is done about errors, misuse.

use super::{Draft, Source};

/// What a lock writes as its own.
pub fn value(source: &mut Source) -> &'static str {
    let values = [
        "lock.token",
        "lock.owner",
        "\"1\"",
        "lock.token .. \":\" .. lock.owner",
        "lock.owner .. \"/\" .. lock.token",
        "\"v-\" .. lock.token",
    ];
    values[source.weighted(&[10, 4, 3, 2, 1, 1])]
}

/// A lease in ms.
pub fn lease(source: &mut Source) -> &'static str {
    let leases = [
        "lock.ttl",
        "lock.ttl - 1000",
        "lock.ttl - 500",
        "lock.ttl + 1000",
        "lock.ttl * 2",
        "500",
    ];
    leases[source.weighted(&[14, 2, 1, 1, 1, 1])]
}

/// A pause between two attempts.
pub fn pause(source: &mut Source) -> &'static str {
    let pauses = [
        "sleep(1000)",
        "sleep(lock.ttl)",
        "sleep(random(2) * 1000)",
        "sleep(500)",
        "sleep(lock.ttl * 3)",
    ];
    pauses[source.weighted(&[6, 3, 2, 2, 1])]
}

/// What is done when a command failed; the error is in `err`.
pub fn on_error(source: &mut Source, draft: &mut Draft) -> String {
    match source.weighted(&[10, 3, 3, 1, 1]) {
        0 => "if err then return failed(err.message) end\n".into(),
        1 => String::new(),
        2 => {
            super::scripts::release(source, draft);
            "if err and not err.definite then\n\
             script(\"release\", { lock.key }, { mine })\n\
             return failed(\"unknown\")\n\
             end\n"
                .into()
        }
        3 => "if err and err.timeout then got = true end\n".into(),
        _ => "if err then error(err.code) end\n".into(),
    }
}

/// A condition that no lock should depend on, or that is plain but odd.
pub fn odd_condition(source: &mut Source) -> &'static str {
    let conditions = [
        "mine == mine .. \"\"",
        "string.sub(lock.token, 1, 1) < \"h\"",
        "#lock.token % 2 == 0",
        "lock.token < lock.owner",
        "string.find(lock.token, \"-\", 1, true)",
        "tostring(now()) ~= \"\"",
        "tostring(now()) ~= tostring(now())",
        "redis(\"GET\", lock.key) == tostring(now())",
        "now() - started < 1",
        "lock.ttl % 2 == 0",
        "string.format(\"%s\", lock.owner) == lock.owner",
        "tonumber(lock.token) == nil",
        "string.lower(lock.token) == lock.token",
        "lock.owner ~= lock.token",
        "random(12) > 11",
        "random(40) < 39",
    ];
    source.one_of(&conditions)
}

/// What acquire returns when it has the lock.
pub fn held(source: &mut Source, draft: &mut Draft) -> String {
    let plain = [
        "held()",
        "held { validity = lock.ttl - (now() - started) }",
        "held { validity = lock.ttl }",
        "held { validity = lock.ttl - 1000 }",
        "held { validity = lock.ttl * 2 - (now() - started) }",
        "held(lock.ttl - (now() - started) - 500)",
    ];
    let held = plain[source.weighted(&[8, 8, 2, 1, 1, 1])];
    if draft.fence && held == "held()" {
        return "held { fence = fence }".into();
    }
    held.into()
}
