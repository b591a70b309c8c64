//! Random Lua programs: every statement, operator and library function, on values
//! of every type, right and wrong.

use rand::{Rng, RngExt};

struct Writer<'r, R: Rng> {
    random: &'r mut R,
    out: String,
    depth: usize,
    locals: Vec<String>,
    /// Loops around, and whether `...` may be used.
    loops: usize,
    vararg: bool,
    budget: usize,
}

/// A program of some statements that returns what it computed.
pub fn program<R: Rng>(random: &mut R) -> String {
    let mut writer = Writer {
        random,
        out: String::new(),
        depth: 0,
        locals: Vec::new(),
        loops: 0,
        vararg: true,
        budget: 40,
    };
    writer.out += "local a, b, c, t = 1, 'x', nil, {1, 2, 3, k = 'v'}\n";
    for name in ["a", "b", "c", "t"] {
        writer.locals.push(name.into());
    }
    let count = writer.random.random_range(1..6);
    for _ in 0..count {
        writer.statement();
    }
    writer.out += "return a, b, c, t\n";
    writer.out
}

/// Without what messages call an operand: stock Lua reads names off registers that
/// its compiler happened to choose.
pub fn without_names(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("attempt to ") {
        let (before, after) = rest.split_at(at + "attempt to ".len());
        out += before;
        let named = after
            .find(" (a ")
            .filter(|at| !after[..*at].contains("attempt"));
        let quoted = named.and_then(|end| Some((after[..end].find('\'')?, end)));
        match quoted {
            Some((quote, end)) => {
                let verb = after[..quote].rsplitn(3, ' ').last().unwrap_or("");
                out += verb;
                out += " a ";
                rest = &after[end + 4..];
                let close = rest.find(')').unwrap_or(0);
                out += &rest[..close];
                rest = &rest[close + 1..];
            }
            None => rest = after,
        }
    }
    out + rest
}

/// Stock Lua's hook, or a depth at which the two give up differently.
pub fn is_known_difference(ours: &str, theirs: &str) -> bool {
    // The function that calls the program is Lua there.
    theirs.contains("differential/lua.rs")
        // Stock Lua's compiler takes -0 and 0 for one constant.
        || ours.replace("-0", "0") == theirs.replace("-0", "0")
        || theirs.contains("runs for ever")
        || theirs.contains("stack overflow") && ours.contains("stack overflow")
        || theirs.contains("not enough memory")
        || theirs.contains("C stack overflow")
}

const BINARY: [&str; 15] = [
    "+", "-", "*", "/", "%", "^", "..", "==", "~=", "<", "<=", ">", ">=", "and", "or",
];

impl<R: Rng> Writer<'_, R> {
    fn below(&mut self, n: usize) -> usize {
        self.random.random_range(0..n)
    }

    fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn local(&mut self) -> String {
        let at = self.below(self.locals.len());
        self.locals[at].clone()
    }

    fn block(&mut self) {
        let locals = self.locals.len();
        let count = self.below(3) + 1;
        for _ in 0..count {
            self.statement();
        }
        self.locals.truncate(locals);
    }

    fn statement(&mut self) {
        if self.budget == 0 || self.depth > 4 {
            let local = self.local();
            self.out += &format!("{local} = 1\n");
            return;
        }
        self.budget -= 1;
        self.depth += 1;
        match self.below(17) {
            0 => {
                let value = self.expression();
                let name = format!("l{}", self.locals.len());
                self.out += &format!("local {name} = {value}\n");
                self.locals.push(name);
            }
            1 => {
                let (x, y) = (
                    format!("l{}", self.locals.len()),
                    format!("m{}", self.locals.len()),
                );
                let value = self.call();
                self.out += &format!("local {x}, {y} = {value}\n");
                self.locals.extend([x, y]);
            }
            2 | 3 => {
                let (target, value) = (self.target(), self.expression());
                self.out += &format!("{target} = {value}\n");
            }
            4 => {
                let (x, y) = (self.target(), self.target());
                let (v, w) = (self.expression(), self.expression());
                self.out += &format!("{x}, {y} = {v}, {w}\n");
            }
            5 => {
                let condition = self.expression();
                self.out += &format!("if {condition} then\n");
                self.block();
                if self.below(2) == 0 {
                    self.out += "else\n";
                    self.block();
                }
                self.out += "end\n";
            }
            6 => {
                let name = format!("i{}", self.locals.len());
                let (from, to) = (self.below(4), self.below(5));
                let step = self.one(&["", ", 1", ", 2", ", -1", ", 0.5"]);
                self.out += &format!("for {name} = {from}, {to}{step} do\n");
                self.locals.push(name);
                self.loop_block();
                self.locals.pop();
                self.out += "end\n";
            }
            7 => {
                let (k, v) = (
                    format!("k{}", self.locals.len()),
                    format!("v{}", self.locals.len()),
                );
                let list = self.one(&[
                    "ipairs(t)",
                    "ipairs({4, 5, nil, 6})",
                    "pairs({9})",
                    "string.gmatch('a1b22', '%d+')",
                ]);
                self.out += &format!("for {k}, {v} in {list} do\n");
                self.locals.extend([k, v]);
                self.loop_block();
                self.locals.pop();
                self.locals.pop();
                self.out += "end\n";
            }
            8 => {
                let name = format!("n{}", self.locals.len());
                let end = self.below(4);
                self.out +=
                    &format!("local {name} = 0\nwhile {name} < {end} do\n{name} = {name} + 1\n");
                self.locals.push(name);
                self.loop_block();
                self.out += "end\n";
            }
            9 => {
                let name = format!("n{}", self.locals.len());
                let end = self.below(3);
                self.out += &format!(
                    "local {name} = 0\nrepeat\n{name} = {name} + 1\nlocal done = {name} >= {end}\n"
                );
                self.locals.push(name);
                let locals = self.locals.len();
                self.statement();
                self.locals.truncate(locals);
                self.out += "until done\n";
            }
            10 => {
                let name = format!("f{}", self.locals.len());
                let dots = self.one(&["", ", ..."]);
                self.out += &format!("local function {name}(p, q{dots})\n");
                self.function_rest(&name);
            }
            11 => {
                self.out += "do\n";
                self.block();
                self.out += "end\n";
            }
            12 if self.loops > 0 => self.out += "do break end\n",
            13 => {
                let (local, call) = (self.local(), self.call());
                self.out += &format!("{local} = {{pcall(function() return {call} end)}}\n");
            }
            14 => {
                let call = self.call();
                self.out += &format!("{call}\n");
            }
            15 => {
                let value = self.expression();
                self.out += &format!("do return {value} end\n");
            }
            _ => {
                let value = self.expression();
                self.out += &format!("t[#t + 1] = {value}\n");
            }
        }
        self.depth -= 1;
    }

    fn loop_block(&mut self) {
        self.loops += 1;
        self.block();
        self.loops -= 1;
    }

    fn function_rest(&mut self, name: &str) {
        let dots = self.out.ends_with("...)\n");
        let locals = self.locals.len();
        let (loops, vararg) = (self.loops, self.vararg);
        self.locals.extend(["p".into(), "q".into()]);
        self.loops = 0;
        self.vararg = dots;
        self.block();
        let value = self.expression();
        self.out += &format!("return {value}{}\nend\n", if dots { ", ..." } else { "" });
        self.locals.truncate(locals);
        self.loops = loops;
        self.vararg = vararg;
        if !name.is_empty() {
            self.locals.push(name.into());
        }
    }

    fn target(&mut self) -> String {
        let local = self.local();
        match self.below(4) {
            0 => format!("t[{}]", self.expression()),
            1 => "t.k".into(),
            2 => format!("{local}.x"),
            _ => local,
        }
    }

    fn expression(&mut self) -> String {
        if self.depth > 6 || self.budget == 0 {
            return self.atom();
        }
        self.depth += 1;
        let found = match self.below(13) {
            0..4 => self.atom(),
            4..7 => {
                let op = self.one(&BINARY);
                let (a, b) = (self.expression(), self.expression());
                match self.below(3) {
                    0 => format!("({a} {op} {b})"),
                    _ => format!("{a} {op} {b}"),
                }
            }
            7 => {
                let op = self.one(&["-", "not ", "#", "- -"]);
                let a = self.expression();
                format!("{op}{a}")
            }
            8 | 9 => self.call(),
            10 => {
                let (a, b) = (self.expression(), self.expression());
                let key = self.one(&["k", "x", "y"]);
                format!("{{{a}, {key} = {b}, {}}}", self.atom())
            }
            11 => {
                let a = self.local();
                let b = self.expression();
                match self.below(3) {
                    0 => format!("{a}[{b}]"),
                    1 => format!("{a}.k"),
                    _ => format!("({a})"),
                }
            }
            _ => {
                let a = self.expression();
                format!(
                    "(function(p, ...) return {a}, select('#', ...) end)({})",
                    self.atom()
                )
            }
        };
        self.depth -= 1;
        found
    }

    fn atom(&mut self) -> String {
        match self.below(6) {
            0 | 1 => self.local(),
            2 => self
                .one(&["nil", "true", "false", "{}", "''", "0", "undefined"])
                .into(),
            3 => self
                .one(&[
                    "1",
                    "2",
                    "-1",
                    "0.5",
                    "1e15",
                    "1/0",
                    "0x1F",
                    "3.0",
                    "1e100",
                    "123456789012",
                    "2^53",
                    "10",
                ])
                .into(),
            4 => self
                .one(&[
                    "'x'",
                    "'10'",
                    "' 7 '",
                    "'0x10'",
                    "'a:b:c'",
                    "'abcabc'",
                    "'\\n'",
                    "'%d'",
                    "[[long\nline]]",
                    "\"q'\"",
                    "'1e1'",
                    "'a.b'",
                ])
                .into(),
            _ if self.vararg => "...".into(),
            _ => "2".into(),
        }
    }

    fn call(&mut self) -> String {
        let (a, b, c) = (self.expression(), self.expression(), self.atom());
        let local = self.local();
        let pattern = self.one(&[
            "'.'",
            "'%d+'",
            "'(%w)(%w*)'",
            "'^a'",
            "'b$'",
            "'[a-c]+'",
            "'[^:]*'",
            "'(.-):(.*)'",
            "'%s*'",
            "'()b()'",
            "'%bac'",
            "'%f[%w]%w+'",
            "'(a)%1'",
            "'['",
            "'%'",
            "'a-b?'",
            "'x*'",
            "'(.)(.)(.)'",
            "'[]]'",
            "'[%]a]'",
            "'%a%'",
            "'(x'",
            "'x)'",
        ]);
        match self.below(46) {
            0 => format!("tostring({a} == {b})"),
            1 => format!("tonumber({a})"),
            2 => format!("tonumber({a}, {b})"),
            3 => format!("type({a})"),
            4 => format!("select({a}, {b}, {c})"),
            5 => format!("select('#', {a}, {b}, nil)"),
            6 => format!("unpack({{{a}, {b}}})"),
            7 => {
                // Stock Lua's `pcall` runs over its own stack with many results.
                let to = self.one(&["3", "5", "'2'", "0", "nil", "{}"]);
                let from = self.one(&["1", "-1", "'2'", "true", "nil"]);
                format!("unpack(t, {from}, {to})")
            }
            8 => format!("rawget(t, {a})"),
            9 => format!("rawequal({a}, {b})"),
            10 => format!("next({{{c}}})"),
            11 => format!("pcall(error, {a})"),
            12 => format!("pcall(error, {a}, {b})"),
            13 => format!("error({a}, {})", self.below(4)),
            14 => format!("assert({a}, {b})"),
            15 => format!("string.sub({a}, {b}, {c})"),
            16 => format!("({a}):sub({b})"),
            17 => format!("string.find({a}, {pattern})"),
            18 => format!("string.find({a}, {pattern}, {b})"),
            19 => format!("string.find({a}, {b}, 1, true)"),
            20 => format!("string.match({a}, {pattern})"),
            21 => format!("string.gsub({a}, {pattern}, {b})"),
            22 => format!("string.gsub({a}, {pattern}, '<%0%1>')"),
            23 => format!("string.gsub({a}, {pattern}, function(x) return {c} end)"),
            24 => format!("string.gsub({a}, {pattern}, {{x = {b}, a = 1}}, {c})"),
            25 => format!(
                "string.rep({b}, {})",
                self.one(&["3", "0", "-1", "'2'", "1.5", "nil"])
            ),
            26 => format!("string.byte({a}, {b})"),
            27 => format!(
                "string.char({}, {a})",
                self.one(&["65", "0", "255", "256", "-1"])
            ),
            28 => format!("string.len({a})"),
            29 => format!("({a}):upper()"),
            30 => format!("string.reverse({a})"),
            31 => format!(
                "string.format({}, {a}, {b})",
                self.one(&[
                    "'%d'",
                    "'%5d|'",
                    "'%-5d|'",
                    "'%05d'",
                    "'%+d'",
                    "'%x'",
                    "'%X'",
                    "'%#x'",
                    "'%o'",
                    "'%c'",
                    "'%s'",
                    "'%10s|'",
                    "'%-10s|'",
                    "'%.2s'",
                    "'%q'",
                    "'%f'",
                    "'%.3f'",
                    "'%e'",
                    "'%.0e'",
                    "'%g'",
                    "'%10.3g'",
                    "'%G'",
                    "'%i'",
                    "'%u'",
                    "'%%'",
                    "'%s:%s'",
                    "'%d:%q'",
                    "'%z'",
                    "'%'",
                    "'%10.123f'",
                    "'%-+ #0d'",
                    "'%#.3g'",
                    "'%.14g'",
                    "'%5.1f|'",
                    "'% d'",
                    "'%.0f'",
                ])
            ),
            32 => format!("table.concat({{{a}, {b}}}, {c})"),
            33 => format!("table.concat(t, ',', {a}, {c})"),
            34 => format!("table.insert(t, {a})"),
            35 => format!(
                "table.insert(t, {}, {a})",
                self.one(&["1", "2", "9", "-1", "0"])
            ),
            36 => format!(
                "table.remove(t{})",
                self.one(&["", ", 1", ", 2", ", 9", ", -1"])
            ),
            37 => format!("table.sort({{3, 1, 2, {c}}})"),
            38 => format!(
                "(function(x) table.sort(x, function(p, q) return p > q end) return unpack(x) end)({{3, 1, 2, {}}})",
                self.one(&["5", "0", "2", "1.5", "4, 7, 6, 9, 8"])
            ),
            39 => format!(
                "math.{}({a})",
                self.one(&[
                    "floor", "ceil", "abs", "sqrt", "exp", "log", "modf", "frexp", "deg", "rad",
                    "log10", "sin"
                ])
            ),
            40 => format!(
                "math.{}({a}, {b})",
                self.one(&["max", "min", "fmod", "pow", "ldexp", "atan2"])
            ),
            41 => format!(
                "setmetatable({{}}, {{__index = {a}, __tostring = function() return {c} end}}).{}",
                self.one(&["k", "x"])
            ),
            42 => format!(
                "setmetatable({{}}, {{__add = function(p, q) return {a} end, __concat = function() return {b} end, __eq = function() return true end, __lt = function() return {c} end, __call = function(self, x) return x end}}){}",
                self.one(&[
                    " + 1", " .. 'x'", " == t", " < t", "(5)", " <= {}", " == {}"
                ])
            ),
            43 => format!("tostring({local})"),
            44 => format!("{local}({a}, {b})"),
            _ => format!("{local}:k({a})"),
        }
    }
}
