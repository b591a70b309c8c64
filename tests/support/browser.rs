//! The little of the WebDriver protocol that the browser test needs.
//!
//! A client crate would bring an async runtime's worth of dependencies for nine
//! requests; the protocol is JSON over HTTP and chromedriver speaks it.
//!
//! Tests that use it stand in modules called `in_a_browser`: `make test` leaves them
//! out, by name, where no browser can be had.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine;
use serde_json::{Value, json};

const INSTALL: &str = "chromium and chromedriver are needed for this test: \
    `apt-get install -y --no-install-recommends chromium chromium-driver`";

/// A headless Chromium with a fresh profile, ended when dropped.
pub struct Browser {
    driver: Child,
    session: String,
    agent: ureq::Agent,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub fn start() -> Browser {
        let (driver, port) = driver();
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .build()
            .into();
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Browser {
            driver,
            session: format!("http://127.0.0.1:{port}/session"),
            agent,
            _profile: profile,
        };
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            // A machine or container may have none, or a small one.
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--window-size=1440,1060",
        ];
        let mut args: Vec<String> = args.map(String::from).to_vec();
        args.push(format!(
            "--user-data-dir={}",
            browser._profile.path().display()
        ));
        let answer = browser.post(
            "",
            json!({"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": args},
                "goog:loggingPrefs": {"browser": "ALL"},
            }}}),
        );
        let id = answer["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{INSTALL} ({answer})"));
        browser.session += &format!("/{id}");
        browser
    }

    fn post(&self, path: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.session);
        let mut answer = self.agent.post(&url).send_json(body).unwrap();
        let answer: Value = answer.body_mut().read_json().unwrap();
        let value = answer["value"].clone();
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    pub fn open(&self, page: &Path) {
        self.post("/url", json!({"url": format!("file://{}", page.display())}));
    }

    /// Runs a function body in the page and returns its result.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({"script": script, "args": []}))
    }

    /// Waits until a function body returns true.
    pub fn until(&self, condition: &str) {
        for _ in 0..500 {
            if self.run(condition) == true {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("it does not come to this: {condition}");
    }

    fn element(&self, css: &str) -> String {
        let found = self.post("/element", json!({"using": "css selector", "value": css}));
        let id = found.as_object().and_then(|o| o.values().next());
        id.and_then(Value::as_str).unwrap().to_string()
    }

    pub fn click(&self, css: &str) {
        let id = self.element(css);
        self.post(&format!("/element/{id}/click"), json!({}));
    }

    /// Types at an element, as if it had the focus.
    pub fn type_at(&self, css: &str, text: &str) {
        let id = self.element(css);
        self.post(&format!("/element/{id}/value"), json!({"text": text}));
    }

    /// Presses keys at whatever has the focus.
    pub fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|k| ["keyDown", "keyUp"].map(|t| json!({"type": t, "value": k})))
            .collect();
        let source = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.post("/actions", json!({"actions": [source]}));
    }

    pub fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.post(
            "/goog/cdp/execute",
            json!({"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}}),
        );
    }

    /// Lays the page out for a screen of this size, narrower than a window may be; 0 takes that
    /// back.
    pub fn pretend(&self, width: u32, height: u32) {
        let screen =
            json!({"width": width, "height": height, "deviceScaleFactor": 0, "mobile": false});
        let command = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": screen});
        self.post("/goog/cdp/execute", command);
    }

    pub fn screenshot(&self, file: &Path) {
        let url = format!("{}/screenshot", self.session);
        let mut answer = self.agent.get(&url).call().unwrap();
        let answer: Value = answer.body_mut().read_json().unwrap();
        let png = answer["value"].as_str().unwrap();
        let png = base64::engine::general_purpose::STANDARD
            .decode(png)
            .unwrap();
        std::fs::write(file, png).unwrap();
    }

    /// What the page wrote to the console since the last call: errors, and what
    /// the content security policy refused.
    pub fn console(&self) -> Vec<Value> {
        let log = self.post("/se/log", json!({"type": "browser"}));
        log.as_array().unwrap().clone()
    }
}

/// A driver that listens, and where.
///
/// It asks for any port, and then wants the same one for IPv6 as well; if another
/// process has that by then it ends, so it is started again.
fn driver() -> (Child, u16) {
    const TRIES: u32 = 5;
    let mut said = String::new();
    for _ in 0..TRIES {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{INSTALL} ({e})"));
        let out = BufReader::new(driver.stdout.take().unwrap());
        for line in out.lines().map_while(Result::ok) {
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                return (driver, port.trim_end_matches('.').parse().unwrap());
            }
            said += &(line + "\n");
        }
        driver.wait().unwrap();
    }
    panic!("chromedriver ended {TRIES} times without naming its port:\n{said}");
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ending the session ends the browser; then the driver goes.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
