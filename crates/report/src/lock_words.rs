//! The words of the pages of locks, in each language.
//!
//! They are sentences with gaps (`{set}`) and not code, so that a translator needs to know nothing
//! of how a page is made. Traces and commands are no words: they are what the program prints.

use lockproof_trace::{Assumption, words};

use super::frontier::{Answer, LockFrontier};
use super::handbook::chinese;
use super::model::{About, LockText, Sizes};

/// A language of the pages of locks.
pub(super) struct LockWords {
    /// The folder of the pages, beside the other renderings.
    pub folder: &'static str,
    /// A link to the same page in the other language, which only published pages have.
    pub other: &'static str,
    pub index: &'static str,
    pub none_found: &'static str,
    pub shortest: &'static str,
    pub nothing_checked: &'static str,
    pub works: &'static str,
    pub claims: &'static str,
    pub found: &'static str,
    pub breaks: &'static str,
    pub repair: &'static str,
    pub warnings: &'static str,
    pub file: &'static str,
    pub built_in: &'static str,
    pub frontier: &'static str,
    pub drawing: &'static str,
    pub table: &'static str,
    pub each_of: &'static str,
    pub head: &'static str,
    pub head_unknown: &'static str,
    pub all_of_these: &'static str,
    pub all_others: &'static str,
    pub because: &'static str,
    pub no_reason: &'static str,
    pub under: &'static str,
    pub confirmed: &'static str,
    pub unconfirmed: &'static str,
    pub strayed: &'static str,
    pub walked: &'static str,
    pub unwalked: &'static str,
    /// Between the sentences of a paragraph.
    pub space: &'static str,
    pub comma: &'static str,
    pub semicolon: &'static str,
    pub not_shown: &'static str,
    /// The shortest run that breaks one property, or several; confirmed, or not.
    pub run: [[&'static str; 2]; 2],
    pub again: &'static str,
    /// What the lock file says of its lock: its description, and the rest.
    pub about: fn(&LockText) -> (String, About),
    /// What a property means, if the catalogue has it.
    pub meaning: fn(&str, &str) -> String,
    pub sizes: fn(Sizes) -> String,
    pub set: fn(&[Assumption]) -> String,
    pub title: fn(&LockFrontier) -> String,
    pub sentence: fn(&LockFrontier) -> String,
    pub saving: fn(&LockFrontier) -> String,
}

pub(super) const ENGLISH: LockWords = LockWords {
    folder: "locks",
    other: "[中文](../zh-CN/locks/{page})",
    index: "# Locks\n\n{other}What each lock is, and what lockproof found. Its page has the details. \
            `lockproof run` writes these pages from the lock files and from its results: do not edit them.\n\n\
            | lock | what it is | every property holds under | the shortest way to break it |\n|---|---|---|---|\n",
    none_found: "none was found",
    shortest: "{property} under {set}, in {steps}",
    nothing_checked: "nothing that was checked",
    works: "How it works",
    claims: "What is claimed for it",
    found: "What lockproof found",
    breaks: "How it breaks",
    repair: "How to repair it",
    warnings: "Warnings",
    file: "The lock file",
    built_in: "{link}, built into lockproof",
    frontier: "**{title}** {sentence}. ({saving})",
    drawing: "The sets of faults that were checked, and which of them break the lock",
    table: "With {sizes}, under {sets}:",
    each_of: "each of these: {sets}",
    head: "| property | safe under | breaks under |",
    head_unknown: " unknown under |",
    all_of_these: "all of these",
    all_others: "all others",
    because: "{sets}, because {reason}",
    no_reason: "no reason is stated",
    under: "{property} under {set}",
    confirmed: "Each violation was confirmed on a real server.",
    unconfirmed: "Not confirmed on a real server: {cells}.",
    strayed: "Random walks through the model went another way on a real server: {cells}.",
    walked: "Where a property holds, random walks through the model went the same way on a real server.",
    unwalked: "What holds was not compared with a real server everywhere.",
    space: " ",
    comma: ", ",
    semicolon: "; ",
    not_shown: "No run is shown here for {properties}.",
    run: [
        [
            "The shortest run that breaks it, not confirmed on a real server:",
            "The shortest run that breaks it, confirmed on a real server:",
        ],
        [
            "The shortest run that breaks them, not confirmed on a real server:",
            "The shortest run that breaks them, confirmed on a real server:",
        ],
    ],
    again: "Find it again:",
    about: |lock| (lock.description.clone(), lock.about.clone()),
    meaning: |_, english| english.to_owned(),
    sizes: super::matrix::sizes_text,
    set: words::assumptions,
    title: |found| found.title(),
    sentence: |found| found.sentence(),
    saving: |found| found.saving_words(),
};

pub(super) const CHINESE: LockWords = LockWords {
    folder: "zh-CN/locks",
    other: "[English](../../locks/{page})",
    index: "# 锁\n\n{other}每把锁是什么，以及 lockproof 发现了什么。详情见各自的页面。\
            这些页面由 `lockproof run` 根据锁文件和检查结果生成，请勿手工修改。\n\n\
            | 锁 | 是什么 | 所有性质都成立的情况 | 最短的破坏方式 |\n|---|---|---|---|\n",
    none_found: "没有发现",
    shortest: "{property}：{set}，{steps}",
    nothing_checked: "检查过的情况都不成立",
    works: "工作原理",
    claims: "声称的保证",
    found: "lockproof 的发现",
    breaks: "如何被破坏",
    repair: "如何修复",
    warnings: "警告",
    file: "锁文件",
    built_in: "{link}，内置于 lockproof",
    frontier: "**{title}**：{sentence}。（{saving}）",
    drawing: "检查过的故障组合，以及其中哪些会破坏这把锁",
    table: "{sizes}，{sets}：",
    each_of: "分别在以下情况下检查：{sets}",
    head: "| 性质 | 安全 | 被违反 |",
    head_unknown: " 未知 |",
    all_of_these: "以上全部",
    all_others: "其余全部",
    because: "{sets}，原因：{reason}",
    no_reason: "没有说明原因",
    under: "{property}：{set}",
    confirmed: "每个违反都在真实服务器上得到确认。",
    unconfirmed: "没有在真实服务器上确认：{cells}。",
    strayed: "模型中的随机游走在真实服务器上走了另一条路：{cells}。",
    walked: "性质成立时，模型中的随机游走在真实服务器上走了同样的路。",
    unwalked: "成立的结论没有全部与真实服务器比较。",
    space: "",
    comma: "、",
    semicolon: "；",
    not_shown: "这里没有给出 {properties} 的轨迹。",
    run: [
        [
            "违反它的最短轨迹，没有在真实服务器上确认：",
            "违反它的最短轨迹，已在真实服务器上确认：",
        ],
        [
            "违反它们的最短轨迹，没有在真实服务器上确认：",
            "违反它们的最短轨迹，已在真实服务器上确认：",
        ],
    ],
    again: "重新找到它：",
    about: chinese::about,
    meaning: chinese::meaning,
    sizes: chinese_sizes,
    set: chinese_set,
    title: |found| match found.sizes_differ {
        true => format!(
            "{}（{}）",
            words::printable(found.lock),
            chinese_sizes(found.sizes)
        ),
        false => words::printable(found.lock),
    },
    sentence: chinese_sentence,
    saving: chinese_saving,
};

impl LockWords {
    /// `47 steps`.
    pub fn steps(&self, steps: usize) -> String {
        match self.space {
            "" => format!("共 {steps} 步"),
            _ => words::plural(steps as u32, "step"),
        }
    }
}

fn chinese_sizes(sizes: Sizes) -> String {
    format!(
        "{} 个客户端、{} 个节点、租约 {} 个 tick",
        sizes.clients, sizes.nodes, sizes.ttl_ticks
    )
}

/// Names stay as they are typed.
fn chinese_set(set: &[Assumption]) -> String {
    match set {
        [] => "无故障".into(),
        set => words::assumptions(set),
    }
}

fn chinese_sentence(found: &LockFrontier) -> String {
    let breaks = found.extremes(Answer::Breaks);
    let without = |sets: &[String]| sets.iter().any(|set| set == "{}");
    let listed = |sets: &[String]| {
        let sets = sets.iter().filter(|set| *set != "{}");
        sets.cloned().collect::<Vec<_>>().join("、")
    };
    let mut parts = vec![match breaks.as_slice() {
        [] => "检查过的故障都不能破坏它".to_owned(),
        some if without(some) => "没有任何故障也会被破坏".to_owned(),
        [one] => format!("会被 {one} 破坏"),
        some => format!("会被以下任何一个组合破坏：{}", listed(some)),
    }];
    let safe = found.extremes(Answer::Safe);
    let named = listed(&safe);
    match (without(&safe), named.is_empty()) {
        (true, true) => parts.push("没有故障时安全".into()),
        (true, false) => parts.push(format!("没有故障时安全，分别在 {named} 下也安全")),
        (false, false) => parts.push(format!("分别在 {named} 下安全")),
        (false, true) => {}
    }
    let open = listed(&found.extremes(Answer::Unknown));
    if !open.is_empty() {
        parts.push(format!("分别在 {open} 下未知"));
    }
    parts.join("；")
}

fn chinese_saving(found: &LockFrontier) -> String {
    let mut parts = Vec::new();
    if let Some(saving) = found.saving {
        let open = saving.sets - saving.asked - saving.follow;
        parts.push(format!(
            "最多 {} 种故障的 {} 个组合中检查了 {} 个",
            saving.faults, saving.sets, saving.asked
        ));
        match (saving.follow, open) {
            (0, 0) => {}
            (_, 0) => parts.push("其余可以推出".into()),
            (follow, open) => parts.push(format!("推出 {follow} 个，{open} 个未知")),
        }
    }
    if found.left_out > 0 {
        parts.push(format!("另有 {} 个组合没有列出", found.left_out));
    }
    parts.join("，")
}

/// A sentence with its gaps filled, each once from left to right: what is filled in is not looked
/// at again.
pub(super) fn fill(sentence: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        out += before;
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        out += value.map_or("", |(_, value)| value);
        rest = after;
    }
    out + rest
}
