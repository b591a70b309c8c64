//! How a generated lock is acquired.

use super::{Draft, Shape, Source, pieces, scripts};

pub fn acquire(source: &mut Source, draft: &mut Draft) -> String {
    draft.shape = match source.weighted(&[12, 4, 2, 2]) {
        0 => Shape::Text,
        1 => Shape::Hash,
        2 => Shape::List,
        _ => Shape::Sorted,
    };
    draft.mine = pieces::value(source).into();
    draft.counts = draft.shape == Shape::Text && source.rarely(8);
    draft.reentrant = draft.counts || draft.shape == Shape::Hash && source.rarely(3);
    draft.fence = source.rarely(12);
    let mut text = String::from("local started = now()\n");
    if source.rarely(12) {
        text = String::from("local started = monotonic()\n").replace("monotonic", clock(source));
    }
    text.push_str(&format!("local mine = {}\n", draft.mine));
    if draft.counts {
        text.push_str(
            "if (self.holds or 0) > 0 then\nself.holds = self.holds + 1\nreturn held()\nend\n",
        );
    }
    if source.rarely(10) {
        let condition = pieces::odd_condition(source);
        let answer = source.one_of(&["busy()", "failed(\"odd\")"]);
        text.push_str(&format!("if not ({condition}) then return {answer} end\n"));
    }
    let once = attempt(source, draft);
    match source.weighted(&[8, 5, 2, 1]) {
        0 => text.push_str(&format!("{once}return busy()\n")),
        1 => {
            let tries = source.one_of(&[2, 3]);
            let pause = pieces::pause(source);
            text.push_str(&format!(
                "for attempt = 1, {tries} do\n{once}if attempt < {tries} then {pause} end\nend\nreturn busy()\n"
            ));
        }
        2 => {
            let pause = pieces::pause(source);
            text.push_str(&format!(
                "while now() - started < lock.ttl * 2 do\n{once}{pause}\nend\nreturn busy()\n"
            ));
        }
        _ => {
            draft.spins = true;
            text.push_str(&format!(
                "while now() - started < lock.ttl do\n{once}end\nreturn busy()\n"
            ));
        }
    }
    text
}

fn clock(source: &mut Source) -> &'static str {
    // Times of two clocks do not mix.
    source.one_of(&["now", "now"])
}

/// One attempt; it returns when it has the lock.
fn attempt(source: &mut Source, draft: &mut Draft) -> String {
    let mut text = String::from("local got = false\n");
    text.push_str(&try_once(source, draft));
    text.push_str("if got then\n");
    if draft.fence {
        text.push_str("local fence = redis(\"INCR\", lock.key .. \":fence\")\n");
        if source.rarely(3) {
            let compare = source.one_of(&["~=", "==", "<", ">="]);
            text.push_str(&format!(
                "if fence and self.fence and self.fence {compare} fence then redis(\"DEL\", lock.key) end\n\
                 self.fence = fence\n"
            ));
        }
    }
    if source.rarely(6) {
        draft.deadline = true;
        text.push_str("self.ends = started + lock.ttl\n");
    }
    if draft.counts {
        text.push_str("self.holds = 1\n");
    }
    if source.rarely(5) {
        text.push_str(&renewal(source, draft));
    }
    text.push_str(&format!("return {}\nend\n", pieces::held(source, draft)));
    text
}

fn try_once(source: &mut Source, draft: &mut Draft) -> String {
    if draft.shape != Shape::Text {
        scripts::take(source, draft);
        let lease = pieces::lease(source);
        let error = pieces::on_error(source, draft);
        return format!(
            "local took, err = script(\"take\", {{ lock.key }}, {{ mine, {lease} }})\n{error}if took == 1 then got = true end\n"
        );
    }
    match source.weighted(&[10, 5, 6, 3, 2, 2, 2]) {
        0 => {
            let lease = pieces::lease(source);
            let error = pieces::on_error(source, draft);
            format!(
                "local set, err = redis(\"SET\", lock.key, mine, \"NX\", \"PX\", {lease})\n{error}if set then got = true end\n"
            )
        }
        1 => setnx(source, draft),
        2 => {
            scripts::take(source, draft);
            let lease = pieces::lease(source);
            let error = pieces::on_error(source, draft);
            format!(
                "local took, err = script(\"take\", {{ lock.key }}, {{ mine, {lease} }})\n{error}if took == 1 then got = true end\n"
            )
        }
        3 => stamps(source, draft),
        4 => {
            // Looks, and then writes.
            let lease = pieces::lease(source);
            let error = pieces::on_error(source, draft);
            format!(
                "local old, err = redis(\"GET\", lock.key)\n{error}if not old then\nlocal set = redis(\"SET\", lock.key, mine, \"PX\", {lease})\nif set then got = true end\nend\n"
            )
        }
        5 => {
            // Waits as long as it takes, and then takes over.
            let leases = source.one_of(&[1, 2, 4]);
            let error = pieces::on_error(source, draft);
            format!(
                "local set, err = redis(\"SET\", lock.key, mine, \"NX\", \"PX\", lock.ttl)\n{error}\
                 if set then\ngot = true\nelse\nsleep(lock.ttl * {leases})\n\
                 if redis(\"SET\", lock.key, mine, \"PX\", lock.ttl) then got = true end\nend\n"
            )
        }
        _ => {
            // Watches the holder's value: unchanged for so long means that it died.
            let leases = source.one_of(&[1, 3]);
            let lease = pieces::lease(source);
            format!(
                "local set = redis(\"SET\", lock.key, mine, \"NX\", \"PX\", {lease})\n\
                 if set then\ngot = true\nelse\nlocal seen = redis(\"GET\", lock.key)\n\
                 sleep(lock.ttl * {leases})\n\
                 if seen and redis(\"GET\", lock.key) == seen then\n\
                 redis(\"DEL\", lock.key)\n\
                 if redis(\"SET\", lock.key, mine, \"NX\", \"PX\", {lease}) then got = true end\nend\nend\n"
            )
        }
    }
}

fn setnx(source: &mut Source, draft: &mut Draft) -> String {
    let error = pieces::on_error(source, draft);
    let expire = match source.weighted(&[5, 4, 1]) {
        0 => {
            draft.ttl_step = true;
            "redis(\"EXPIRE\", lock.key, lock.ttl / 1000)\n".to_owned()
        }
        1 => format!("redis(\"PEXPIRE\", lock.key, {})\n", pieces::lease(source)),
        _ => String::new(),
    };
    let check = source.one_of(&["", "local _, late = "]);
    let then = if check.is_empty() || expire.is_empty() {
        String::new()
    } else {
        "if late then return failed(late.message) end\n".to_owned()
    };
    let check = if expire.is_empty() { "" } else { check };
    format!(
        "local set, err = redis(\"SETNX\", lock.key, mine)\n{error}if set == 1 then\n{check}{expire}{then}got = true\nend\n"
    )
}

/// The value is a time: when the lease ends, or when it began.
fn stamps(source: &mut Source, draft: &mut Draft) -> String {
    draft.mine = "stamp".into();
    let kind = source.pick(4);
    let error = pieces::on_error(source, draft).replace("{ mine }", "{ stamp }");
    let grace = source.one_of(&["lock.ttl", "lock.ttl * 2", "lock.ttl * 4"]);
    let first = format!(
        "local stamp = now() + {grace}\nself.stamp = stamp\nlocal set, err = redis(\"SETNX\", lock.key, stamp)\n{error}\
         if set == 1 then\ngot = true\nelse\n"
    );
    let rest = match kind {
        0 => {
            "local old = redis(\"GET\", lock.key)\nlocal ends = old and time(old)\n\
             if ends and ends < now() then\n\
             if redis(\"GETSET\", lock.key, stamp) == old then got = true end\nend\nend\n"
        }
        1 => {
            "local old = redis(\"GET\", lock.key)\nlocal ends = old and time(old)\n\
             if ends and ends <= now() then\nredis(\"DEL\", lock.key)\n\
             if redis(\"SETNX\", lock.key, stamp) == 1 then got = true end\nend\nend\n"
        }
        2 => {
            "local old = redis(\"GET\", lock.key)\nlocal ends = old and time(old)\n\
             if ends and now() - ends > lock.ttl * 2 then\nredis(\"SET\", lock.key, stamp)\n\
             got = true\nend\nend\n"
        }
        _ => {
            "local old = redis(\"GET\", lock.key)\n\
             if old and tonumber(old) and tonumber(old) < 1 then got = true end\nend\n"
        }
    };
    let expire = source.one_of(&[
        "",
        "if got then redis(\"PEXPIRE\", lock.key, lock.ttl) end\n",
    ]);
    format!("{first}{rest}{expire}")
}

/// A thread that prolongs the lease.
fn renewal(source: &mut Source, draft: &mut Draft) -> String {
    draft.thread = true;
    draft.renews = source.rarely(3);
    scripts::extend(source, draft);
    let period = source.one_of(&["lock.ttl / 2", "lock.ttl - 1000", "1000", "lock.ttl"]);
    let tell = source.one_of(&[
        "if extended == 0 then\nlost()\nreturn false\nend\n",
        "if extended ~= 1 then return false end\n",
        "",
    ]);
    let mine = if draft.mine == "stamp" {
        "stamp"
    } else {
        "mine"
    };
    match source.pick(2) {
        0 => format!(
            "self.renewal = every({period}, function()\n\
             local extended = script(\"extend\", {{ lock.key }}, {{ {mine}, lock.ttl }})\n{tell}end)\n"
        ),
        _ => format!(
            "self.renewal = spawn(function()\nfor round = 1, 2 do\nsleep({period})\n\
             local extended = script(\"extend\", {{ lock.key }}, {{ {mine}, lock.ttl }})\n\
             if extended == 0 then\nlost()\nbreak\nend\nend\nend)\n"
        ),
    }
}
