//! How a generated lock is given back.

use super::{Draft, Shape, Source, scripts};

pub fn release(source: &mut Source, draft: &mut Draft) -> String {
    let mut text = String::new();
    let mine = if draft.mine == "stamp" {
        "self.stamp".to_owned()
    } else {
        draft.mine.clone()
    };
    if draft.counts {
        text.push_str("self.holds = self.holds - 1\nif self.holds > 0 then return true end\n");
    }
    if draft.thread && !source.rarely(5) {
        text.push_str("stop(self.renewal)\n");
    }
    if draft.deadline && !source.rarely(3) {
        text.push_str("if now() >= self.ends then return false end\n");
    }
    let way = source.weighted(&[10, 2, 2, 1, 1, 1]);
    match way {
        1 => text.push_str(&format!("local gone, err = redis(\"DEL\", lock.key)\n{}", ending(source, "gone"))),
        2 if draft.shape == Shape::Text => text.push_str(&format!(
            "local gone, err = 0, nil\nif redis(\"GET\", lock.key) == {mine} then\ngone, err = redis(\"DEL\", lock.key)\nend\n{}",
            ending(source, "gone")
        )),
        3 if draft.shape == Shape::Text => text.push_str(&format!(
            "local gone, err = redis(\"PEXPIRE\", lock.key, 1)\n{}",
            ending(source, "gone")
        )),
        4 => text.push_str("return true\n"),
        5 => {
            scripts::release(source, draft);
            text.push_str(&format!(
                "for attempt = 1, 2 do\nlocal gone, err = script(\"release\", {{ lock.key }}, {{ {mine} }})\n\
                 if not err then return gone == 1 end\nend\nreturn false\n"
            ));
        }
        _ => {
            scripts::release(source, draft);
            text.push_str(&format!(
                "local gone, err = script(\"release\", {{ lock.key }}, {{ {mine} }})\n{}",
                ending(source, "gone")
            ));
        }
    }
    text
}

fn ending(source: &mut Source, gone: &str) -> String {
    match source.weighted(&[10, 2, 2, 1, 1, 1]) {
        0 => format!("return {gone} == 1\n"),
        1 => "if err then return failed(err.message) end\n".into(),
        2 => format!("if err then return false end\nreturn {gone} == 1\n"),
        3 => "return true\n".into(),
        4 => format!("if {gone} == 0 then return lost() end\nreturn {gone} == 1\n"),
        _ => format!("if {gone} then return true end\nreturn false\n"),
    }
}
